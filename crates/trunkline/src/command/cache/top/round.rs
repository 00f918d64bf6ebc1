//! One look at all servers, and what happened since the one before.

use serde_json::{Value, json};
use trunkline_web::sources::{CacheRates, CacheSnapshot};

/// What each server told: its address, and how it stands or why that is not known.
#[derive(Clone, Debug, Default)]
pub struct Round(pub Vec<(String, Result<CacheSnapshot, String>)>);

/// A server that answered.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// Its address.
    pub name: &'a str,
    /// How it stands.
    pub now: &'a CacheSnapshot,
    /// What happened since the round before.
    pub rates: CacheRates,
}

impl Round {
    /// Those that answered, with what happened since `before`.
    pub fn servers<'a>(&'a self, before: &Round) -> Vec<Server<'a>> {
        let rates = |name: &str, now: &CacheSnapshot| {
            let before = before.0.iter().find(|(other, _)| other == name).and_then(|(_, look)| look.as_ref().ok());
            before.map(|before| CacheRates::between(before, now)).unwrap_or_default()
        };
        let answered = self.0.iter().filter_map(|(name, look)| Some((name, look.as_ref().ok()?)));
        answered.map(|(name, now)| Server { name, now, rates: rates(name, now) }).collect()
    }

    /// Why the others are not known, a line each.
    pub fn troubles(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|(_, look)| look.as_ref().err().map(String::as_str))
    }

    /// Why nobody is known, if that is so.
    pub fn trouble(&self) -> Option<String> {
        let all: Vec<&str> = self.troubles().collect();
        (all.len() == self.0.len()).then(|| all.join("\n"))
    }

    /// A line of JSON for each server.
    pub fn objects(&self, before: &Round) -> Vec<Value> {
        let servers = self.servers(before);
        let object = |(name, look): &(String, Result<CacheSnapshot, String>)| match look {
            Err(why) => json!({"server": name, "trouble": why}),
            Ok(now) => {
                let rates = servers.iter().find(|server| server.name == name).map(|server| server.rates);
                json!({"server": name, "rates": rates, "now": now})
            }
        };
        self.0.iter().map(object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(second: i64, gets: u64) -> Round {
        let now = CacheSnapshot { at_ns: second * 1_000_000_000, gets_total: Some(gets), ..CacheSnapshot::default() };
        Round(vec![("a:1".to_owned(), Ok(now)), ("b:2".to_owned(), Err("b:2: nobody listens there".to_owned()))])
    }

    #[test]
    fn who_answers_has_rates_and_who_does_not_has_a_reason() {
        let (before, now) = (round(1, 10), round(3, 30));
        let servers = now.servers(&before);
        assert_eq!((servers.len(), servers[0].name, servers[0].rates.gets_per_s), (1, "a:1", Some(10.0)));
        assert_eq!(now.trouble(), None);
        let objects = now.objects(&before);
        assert_eq!(
            (objects[0]["rates"]["gets_per_s"].as_f64(), objects[0]["now"]["gets_total"].as_u64()),
            (Some(10.0), Some(30))
        );
        assert_eq!(objects[1]["trouble"], "b:2: nobody listens there");
        let alone = Round(now.0[1..].to_vec());
        assert_eq!(alone.trouble().as_deref(), Some("b:2: nobody listens there"));
    }
}
