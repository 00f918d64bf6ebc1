//! The file of a proxy: everything that is wrong with it at once, with its place.

use super::{Config, POOLS_MAX, PREFIXES_MAX, PoolSection, RouteSection};
use std::time::Duration;
use toml::de::{DeTable, DeValue};
use trunkline_kit::config::{FILE_OCTETS_MAX, Mistake, Sheet, raw, sheet};
use trunkline_kit::nearest::suggestion;

const SECTIONS: [&str; 3] = ["route", "pool.NAME", "prefix"];

/// Reads the file that is named `path` when mistakes are told.
///
/// # Errors
/// All mistakes, in the order of the file; at most [`MISTAKES_MAX`](trunkline_kit::config::MISTAKES_MAX).
pub fn read(path: &str, text: &str) -> Result<Config, Vec<Mistake>> {
    sheet(path, text, FILE_OCTETS_MAX, |sheet, table| Reader { sheet }.config(table))
}

/// A pool whose words about others are still to be looked up, and where it stands.
struct Named {
    name: String,
    section: PoolSection,
    at: usize,
    keys: Vec<(String, usize)>,
}

struct Reader<'s, 'a> {
    sheet: &'s mut Sheet<'a>,
}

impl Reader<'_, '_> {
    fn config(&mut self, table: &DeTable<'_>) -> Config {
        let (mut route, mut default_at) = (RouteSection::default(), 0);
        let (mut named, mut prefixes) = (Vec::new(), Vec::new());
        for (key, value) in table {
            let at = key.span().start;
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("route", DeValue::Table(table)) => {
                    let keys = self.sheet.section("route", table, &mut route, raw);
                    default_at = place_of(&keys, "default").unwrap_or(at);
                }
                ("pool", DeValue::Table(table)) => named = self.pools(table),
                ("prefix", DeValue::Table(table)) => prefixes = self.prefixes(table),
                (name @ ("route" | "pool" | "prefix"), _) => {
                    self.sheet.wrong(at, format!("'{name}' is a section: [{name}]"))
                }
                (name, _) => {
                    self.sheet.wrong(at, format!("unknown section [{name}]{}", suggestion(name, SECTIONS.into_iter())));
                }
            }
        }
        self.together(route, default_at, &named, prefixes)
    }

    /// The sections as one configuration.
    fn together(
        &mut self,
        route: RouteSection,
        default_at: usize,
        named: &[Named],
        prefixes: Vec<(String, String, usize)>,
    ) -> Config {
        let mut config = Config { route, servers: Vec::new(), pools: Vec::new(), default: 0, prefixes: Vec::new() };
        for pool in named {
            if let Err((key, what)) = config.add(&pool.name, &pool.section) {
                self.sheet.wrong(place_of(&pool.keys, key).unwrap_or(pool.at), what);
            }
        }
        match named.len() {
            0 => self.sheet.wrong(0, "no pool: [pool.main] with servers = [\"HOST:PORT\"]".to_owned()),
            1..=POOLS_MAX => {}
            _ => self.sheet.wrong(0, format!("more than {POOLS_MAX} pools")),
        }
        let names: Vec<&str> = named.iter().map(|pool| pool.name.as_str()).collect();
        match config.route.default.clone() {
            none if none.is_empty() && names.len() > 1 => {
                self.sheet.wrong(
                    default_at,
                    "there are several pools: default = \"NAME\" in [route] says whose \
                    the other keys are"
                        .to_owned(),
                );
            }
            none if none.is_empty() => {}
            name => config.default = self.pool(&names, &name, default_at),
        }
        for (prefix, pool, at) in prefixes {
            let pool = self.pool(&names, &pool, at);
            config.prefixes.push((prefix.into_bytes(), pool));
        }
        config.prefixes.sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.len()));
        self.others(&mut config, named, &names);
        config
    }

    /// What pools say of other pools.
    fn others(&mut self, config: &mut Config, named: &[Named], names: &[&str]) {
        // Where a pool could not be made the indices are not theirs, and nothing is used of it.
        let whole = config.pools.len() == named.len();
        for (at, pool) in named.iter().enumerate() {
            for (key, name) in [("gutter", &pool.section.gutter), ("warm", &pool.section.warm)] {
                if name.is_empty() {
                    continue;
                }
                let place = place_of(&pool.keys, key).unwrap_or(pool.at);
                let other = self.pool(names, name, place);
                if *name == pool.name {
                    self.sheet.wrong(place, format!("pool '{name}' cannot be its own {key}"));
                } else if whole && key == "gutter" {
                    config.pools[at].gutter = Some((other, pool.section.gutter_ttl.max(Duration::from_secs(1))));
                } else if whole {
                    config.pools[at].warm = Some(other);
                }
            }
        }
    }

    fn pool(&mut self, names: &[&str], name: &str, at: usize) -> u16 {
        match names.iter().position(|known| *known == name) {
            Some(pool) => pool as u16,
            None => {
                self.sheet.wrong(at, format!("no pool '{name}'{}", suggestion(name, names.iter().copied())));
                0
            }
        }
    }

    fn pools(&mut self, table: &DeTable<'_>) -> Vec<Named> {
        let mut named = Vec::new();
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref().to_owned(), key.span().start);
            let DeValue::Table(table) = value.get_ref() else {
                self.sheet.wrong(at, format!("'pool.{name}' is a section: write [pool.{name}] and its keys below"));
                continue;
            };
            let mut section = PoolSection::default();
            let keys = self.sheet.section(&format!("pool.{name}"), table, &mut section, raw);
            named.push(Named { name, section, at, keys });
        }
        named
    }

    fn prefixes(&mut self, table: &DeTable<'_>) -> Vec<(String, String, usize)> {
        let mut prefixes = Vec::new();
        for (key, value) in table {
            let at = value.span().start;
            match value.get_ref() {
                DeValue::String(pool) => prefixes.push((key.get_ref().as_ref().to_owned(), pool.to_string(), at)),
                _ => self.sheet.wrong(at, "the name of a pool in quotes".to_owned()),
            }
        }
        if prefixes.len() > PREFIXES_MAX {
            self.sheet.wrong(0, format!("more than {PREFIXES_MAX} prefixes"));
        }
        prefixes
    }
}

fn place_of(keys: &[(String, usize)], key: &str) -> Option<usize> {
    keys.iter().find(|(name, _)| name == key).map(|(_, at)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::config::Policy;

    #[test]
    fn a_whole_file_is_read() {
        let text = r#"
            [route]
            default = "main"
            timeout = "250 ms"
            flush = true
            [pool.main]
            servers = ["10.0.0.1:11211", "10.0.0.2:11211 weight 2"]
            gutter = "spare"
            hash-tag = "{}"
            [pool.copies]
            servers = ["10.0.2.1", "10.0.2.2"]
            policy = "replicated"
            miss-next = true
            [pool.spare]
            servers = ["10.0.1.1:11211"]
            [prefix]
            "a:" = "copies"
            "a:b:" = "main"
        "#;
        let config = read("route.toml", text).expect("it is right");
        let pool = |name: &str| config.pools.iter().position(|pool| pool.name == name).expect("a pool");
        assert_eq!(config.route.timeout, Duration::from_millis(250));
        let main = &config.pools[pool("main")];
        assert_eq!(main.gutter, Some((pool("spare") as u16, Duration::from_secs(10))));
        assert_eq!((main.tag, main.servers.1), (Some(*b"{}"), 2));
        assert_eq!(config.pools[pool("copies")].policy, Policy::Replicated);
        let of = |key: &[u8]| usize::from(config.pool_of(key));
        assert_eq!((of(b"a:x"), of(b"a:b:x"), of(b"x")), (pool("copies"), pool("main"), pool("main")));
    }

    #[test]
    fn all_mistakes_are_told_with_their_places() {
        let text = "[rout]\nx = 1\n[pool.main]\nserver = [\"a:1\"]\nservers = [\"a:1\", \"b:x\"]\ngutter = \"spre\"\n\
                    [pool.spare]\nservers = [\"c:1\"]\npolicy = \"replicate\"\n[prefix]\n\"x\" = \"spare2\"\n";
        let told: Vec<String> = read("r.toml", text).expect_err("wrong").iter().map(ToString::to_string).collect();
        for part in [
            "r.toml:1:2: unknown section [rout]; did you mean 'route'?",
            "r.toml:4:1: unknown key 'server' in [pool.main]; did you mean 'servers'?",
            "r.toml:5:11: b:x: 'x' is no port",
            "r.toml:6:10: no pool 'spre'; did you mean 'spare'?",
            "r.toml:9:10: policy: unknown word \"replicate\"; did you mean 'replicated'?",
            "r.toml:11:7: no pool 'spare2'; did you mean 'spare'?",
            "there are several pools",
        ] {
            assert!(told.iter().any(|line| line.contains(part)), "{part} in {told:#?}");
        }
        assert!(read("r.toml", "").expect_err("no pool")[0].to_string().contains("no pool"));
    }
}
