//! Sites, devices with their credentials, rows, data sources and graphs.

use super::super::tables::Record;
use super::words::fields;
use super::{Converter, RraFile, series};
use crate::inventory::{
    Access, Authentication, Availability, Change, Credential, Device, DeviceState, Graph, Identity, Kind, Login,
    Observed, Privacy, Probe, Row, Secret, Site, Source, Template, Version,
};
use std::collections::{BTreeMap, HashMap};

/// Device, data query and index, as Cacti has them.
type RowKey<'t> = (u32, &'t str, &'t str);

impl<'t> Converter<'t> {
    /// The number that stands for a name in the inventory.
    fn named(&mut self, kind: Kind, name: &str) -> Option<u32> {
        if let Some(id) = self.work.named(kind, name) {
            return Some(id);
        }
        let id = self.work.templates().next();
        let template = Template { kind, name: name.into() };
        self.change(name, Change::Template { id, template }).then_some(id)
    }

    pub(super) fn all_sites(&mut self) {
        let rows: Vec<Record<'t>> = self.tables.rows("sites").collect();
        for row in rows {
            let lines =
                ["address1", "address2", "postal_code", "city", "state", "country"].map(|column| row.text(column));
            let address = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ");
            let position: Option<(f64, f64)> = row.number("latitude").zip(row.number("longitude"));
            let site = Site {
                name: self.free_name(Kind::Site, row.text("name")).into(),
                address: address.into(),
                position: position.filter(|position| *position != (0.0, 0.0)),
                notes: row.text("notes").into(),
            };
            let id = self.work.sites().next();
            if self.change(&format!("site '{}'", row.text("name")), Change::Site { id, site: Box::new(site) }) {
                self.sites.extend(row.number("id").map(|own| (own, id)));
            }
        }
    }

    /// A name that nothing else of its kind has: what people call it, cut and numbered where that must be.
    fn free_name(&mut self, kind: Kind, name: &str) -> String {
        let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let plain: String = plain.trim().chars().take(60).collect();
        let plain = if plain.trim().is_empty() { "unnamed".to_owned() } else { plain.trim().to_owned() };
        if plain != name {
            self.tell(format!("the name '{name}' becomes '{plain}'"));
        }
        if self.work.named(kind, &plain).is_none() {
            return plain;
        }
        let mut numbered = (2u32..).map(|number| format!("{plain} #{number}"));
        let free = numbered.find(|name| self.work.named(kind, name).is_none()).unwrap_or_default();
        self.tell(format!("a {} '{plain}' exists already: another one is called '{free}'", kind.name()));
        free
    }

    pub(super) fn all_hosts(&mut self) {
        let rows: Vec<Record<'t>> = self.tables.rows("host").collect();
        for row in rows {
            let Some(own) = row.number::<u32>("id") else { continue };
            if row.is_on("deleted") {
                self.tell(format!("device '{}' is deleted", row.text("description")));
                continue;
            }
            let name = self.free_name(Kind::Device, row.text("description"));
            let device = self.device(row, &name);
            let id = self.work.devices().next();
            if !self.change(&format!("device '{name}'"), Change::Device { id, device: Box::new(device) }) {
                continue;
            }
            self.hosts.insert(own, id);
            let text = |column: &str| row.text(column).into();
            let observed = Observed {
                object: row.text("snmp_sysObjectID").trim_start_matches("OID: ").trim_start_matches('.').into(),
                name: text("snmp_sysName"),
                description: text("snmp_sysDescr"),
                location: text("snmp_sysLocation"),
                contact: text("snmp_sysContact"),
            };
            if observed != Observed::default() {
                self.change(
                    &format!("what '{name}' says of itself"),
                    Change::Observed { device: id, observed: Box::new(observed) },
                );
            }
            if !matches!(row.text("poller_id"), "" | "0" | "1") {
                self.tell("devices of remote pollers are polled from here".to_owned());
            }
        }
    }

    fn device(&mut self, row: Record<'t>, name: &str) -> Device {
        let host = row.text("hostname").trim();
        let address = ["tcp:", "udp:", "tcp6:", "udp6:"].iter().find_map(|prefix| host.strip_prefix(prefix));
        let mut version = match row.text("snmp_version") {
            "1" => Some(Version::V1),
            "2" => Some(Version::V2c),
            "3" => Some(Version::V3),
            _ => None,
        };
        let credential = version.and_then(|version| self.credential(row, version, name));
        if version == Some(Version::V3) && credential.is_none() {
            self.tell(format!("device '{name}' is not asked by SNMP: it has no user that can be taken over"));
            version = None;
        }
        let clamp = |column: &str, usual: u32| row.number::<u32>(column).filter(|n| *n > 0).unwrap_or(usual);
        let access = Access {
            version,
            port: row.number("snmp_port").filter(|port| *port > 0).unwrap_or(161),
            credential,
            timeout_ms: clamp("snmp_timeout", 1000).clamp(10, 60_000),
            retries: row.number("ping_retries").unwrap_or(2).min(10),
            objects_max: clamp("max_oids", 10).min(1000) as u16,
        };
        let template = self.devices.get(row.text("host_template_id")).cloned();
        Device {
            access,
            site: row.number("site_id").and_then(|site: u32| self.sites.get(&site).copied()),
            template: template.and_then(|template| self.named(Kind::DeviceTemplate, &template)),
            availability: availability(row),
            state: if row.is_on("disabled") { DeviceState::Disabled } else { DeviceState::Active },
            notes: row.text("notes").into(),
            ..Device::new(name, address.unwrap_or(host))
        }
    }

    /// The credential of a device; devices that have the same share it.
    fn credential(&mut self, row: Record<'t>, version: Version, device: &str) -> Option<u32> {
        let secret = |column: &str| Secret::new(row.text(column).as_bytes());
        let login = match version {
            Version::V1 | Version::V2c if row.text("snmp_community").is_empty() => return None,
            Version::V1 | Version::V2c => Login::Community { community: secret("snmp_community") },
            Version::V3 => Login::User {
                user: row.text("snmp_username").into(),
                authentication: authentication(row),
                authentication_password: secret("snmp_password"),
                privacy: privacy(row),
                privacy_password: secret("snmp_priv_passphrase"),
                context: row.text("snmp_context").into(),
            },
        };
        if let Some(known) = self.credentials.get(&login) {
            return Some(*known);
        }
        let kind = if version == Version::V3 { "user" } else { "community" };
        let mut names = (1u32..).map(|number| format!("cacti {kind} {number}"));
        let name = names.find(|name| self.work.named(Kind::Credential, name).is_none())?;
        let id = self.work.credentials().next();
        let credential = Credential { name: name.into(), login: login.clone() };
        let done = self.change(
            &format!("the credential of '{device}'"),
            Change::Credential { id, credential: Box::new(credential) },
        );
        done.then(|| *self.credentials.entry(login).or_insert(id))
    }

    /// Rows of tables: those that the cache of Cacti has, and those that data sources are of.
    pub(super) fn all_rows(&mut self) {
        let mut cached: BTreeMap<RowKey<'t>, Vec<(&'t str, &'t str)>> = BTreeMap::new();
        for row in self.tables.rows("host_snmp_cache") {
            let Some(host) = row.number("host_id") else { continue };
            let key = (host, row.text("snmp_query_id"), row.text("snmp_index"));
            cached.entry(key).or_default().push((row.text("field_name"), row.text("field_value")));
        }
        for row in self.tables.rows("data_local").filter(|row| !row.is_none("snmp_query_id")) {
            let Some(host) = row.number("host_id") else { continue };
            cached.entry((host, row.text("snmp_query_id"), row.text("snmp_index"))).or_default();
        }
        for ((host, query, index), values) in cached {
            self.row(host, query, index, &values);
        }
    }

    fn row(&mut self, host: u32, query: &'t str, index: &'t str, values: &[(&'t str, &'t str)]) {
        let Some(device) = self.hosts.get(&host).copied() else {
            return self.tell("rows of devices that are not there are left out".to_owned());
        };
        // That the data query is not taken over is told already.
        let Some((table, known)) = self.queries.get(query).cloned() else { return };
        let value = |field: &str| values.iter().find(|(name, _)| *name == field).map_or("", |(_, value)| value.trim());
        let mut names = known.order.iter().map(|field| value(field)).filter(|name| !name.is_empty());
        let passing = |field: &&str| !["ifIndex", "ifHwAddr", "ifIP"].contains(field);
        let name = known.order.iter().map(String::as_str).filter(passing).map(value).find(|name| !name.is_empty());
        let name = name.or_else(|| names.next()).unwrap_or(index).to_owned();
        let second = Some(value("ifDescr")).filter(|second| *second != name).unwrap_or_default();
        let mut fields = Vec::new();
        for field in known.table.fields.keys() {
            let text = value(field);
            if !text.is_empty() {
                fields.extend(self.named(Kind::Field, field).map(|id| (id, text.into())));
            }
        }
        let Some(table) = self.named(Kind::Table, &table) else { return };
        let speed = value("ifHighSpeed").parse().ok().map(|speed: u64| speed.saturating_mul(1_000_000));
        let row = Row {
            device,
            table,
            name: self.row_name(device, table, &name, second).into(),
            identity: Identity {
                name: name.as_str().into(),
                second: second.into(),
                mark: value("ifHwAddr").into(),
                shared: false,
            },
            label: value("ifAlias").into(),
            index: index.split('.').map(|arc| arc.parse().ok()).collect(),
            speed: speed.filter(|speed| *speed > 0).or_else(|| value("ifSpeed").parse().ok()).unwrap_or(0),
            fields,
        };
        let id = self.work.rows().next();
        if self.change(&format!("row '{name}'"), Change::Row { id, row: Box::new(row) }) {
            self.rows.insert((host, query, index), id);
        }
    }

    /// A name that no other row of the table has.
    fn row_name(&mut self, device: u32, table: u32, name: &str, second: &str) -> String {
        let plain: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
        let plain = if plain.trim().is_empty() { "unnamed".to_owned() } else { plain.trim().to_owned() };
        let mut all = [plain.clone(), format!("{plain} ({})", second.trim())].into_iter();
        let mut numbered = (2u32..).map(|number| format!("{plain} #{number}"));
        let work = &self.work;
        let is_free = |name: &String| work.row_named(device, table, name).is_none();
        all.find(is_free).or_else(|| numbered.find(is_free)).unwrap_or_default()
    }

    pub(super) fn all_sources(&mut self) {
        let parts = series::Parts::new(self.tables);
        let own = self.tables.rows("data_template_data").filter(|row| !row.is_none("local_data_id"));
        let own: HashMap<&str, Record<'t>> = own.map(|row| (row.text("local_data_id"), row)).collect();
        let mut names: HashMap<&str, Vec<String>> = HashMap::new();
        for row in self.tables.rows("data_template_rrd").filter(|row| !row.is_none("local_data_id")) {
            names.entry(row.text("local_data_id")).or_default().push(row.text("data_source_name").to_owned());
        }
        let rows: Vec<Record<'t>> = self.tables.rows("data_local").collect();
        for row in rows {
            let Some(own) = own.get(row.text("id")).copied() else {
                self.tell("data sources without settings are left out".to_owned());
                continue;
            };
            let series = names.remove(row.text("id")).unwrap_or_default();
            self.source(row, own, series, &parts);
        }
    }

    fn source(&mut self, row: Record<'t>, own: Record<'t>, series: Vec<String>, parts: &series::Parts<'t>) {
        let path = own.text("data_source_path");
        let (Some(local), Some(host)) = (row.number::<u32>("id"), row.number::<u32>("host_id")) else { return };
        let Some(device) = self.hosts.get(&host).copied() else {
            return self.tell(format!("data source {local} ({path}) is of no device"));
        };
        let graph = parts.value_of(own.text("id"), "output_type").unwrap_or_default();
        let made = self.data.get(row.text("data_template_id")).into_iter().flatten();
        let of_graph = made.clone().find(|made| made.query_graphs.iter().any(|known| known == graph));
        let of_query = made.clone().find(|made| made.query.as_deref() == Some(row.text("snmp_query_id")));
        let Some(made) = of_graph.or(of_query).or_else(|| made.clone().find(|made| made.query.is_none())).cloned()
        else {
            return self.tell(format!("data source {local} ({path}): its data template is not imported"));
        };
        let key = (host, row.text("snmp_query_id"), row.text("snmp_index"));
        let at = made.query.as_ref().and_then(|_| self.rows.get(&key).copied());
        if made.query.is_some() && at.is_none() {
            return self.tell(format!("data source {local} ({path}): its row is not there"));
        }
        let arguments = self.arguments(&made.name, own, row, parts);
        let Some(template) = self.named(Kind::DataTemplate, &made.name) else { return };
        if self.work.source_for(device, template, at).is_some() {
            return self.again(local, path, &made.name, arguments, device, row, own, series);
        }
        let source = Source { device, template, row: at, active: own.is_on("active"), arguments };
        self.put_source(local, path, source, series);
    }

    fn put_source(&mut self, local: u32, path: &str, source: Source, series: Vec<String>) {
        let id = self.work.sources().next();
        if self.change(&format!("data source {local} ({path})"), Change::Source { id, source }) {
            self.sources.insert(local, id);
            if path.is_empty() {
                self.tell("data sources without a file have none to bring".to_owned());
            } else {
                self.import.files.push(RraFile { path: path.to_owned(), source: id, local_data_id: local, series });
            }
        }
    }

    /// Another data source of the same template for the same device or row (a generic object, another mount point): its
    /// template is taken a second time under another name.
    #[expect(clippy::too_many_arguments, reason = "what a data source is made of")]
    fn again(
        &mut self,
        local: u32,
        path: &str,
        data: &str,
        arguments: Vec<(Box<str>, Box<str>)>,
        device: u32,
        row: Record<'t>,
        own: Record<'t>,
        series: Vec<String>,
    ) {
        let Some(template) = self.import.library.data.get(data).cloned() else { return };
        let at = |key| self.rows.get(&key).copied();
        let at = row.number("host_id").and_then(|host| at((host, row.text("snmp_query_id"), row.text("snmp_index"))));
        let at = at.filter(|_| template.table.is_some());
        let copies = self.copies.entry(data.to_owned()).or_default().clone();
        let known = copies.iter().map(|name| (name, self.work.named(Kind::DataTemplate, name)));
        let free = known.into_iter().find(|(_, id)| id.is_none_or(|id| self.work.source_for(device, id, at).is_none()));
        let name = match free {
            Some((name, _)) => name.clone(),
            None => {
                let name = self.names.unique("data", data.strip_prefix("cacti-").unwrap_or(data));
                self.import.library.data.insert(name.clone(), template);
                self.copies.entry(data.to_owned()).or_default().push(name.clone());
                self.tell(format!("devices with several data sources of '{data}' have copies of it for the others"));
                name
            }
        };
        let Some(template) = self.named(Kind::DataTemplate, &name) else { return };
        let source = Source { device, template, row: at, active: own.is_on("active"), arguments };
        self.put_source(local, path, source, series);
    }

    /// What a data source says itself of what its template leaves to it.
    fn arguments(
        &mut self,
        data: &str,
        own: Record<'t>,
        row: Record<'t>,
        parts: &series::Parts<'t>,
    ) -> Vec<(Box<str>, Box<str>)> {
        let wanted = self.import.library.data.get(data).map(super::words::arguments).unwrap_or_default();
        let mut arguments = Vec::new();
        for name in wanted {
            let values = parts.values.get(own.text("id")).into_iter().flatten();
            let named = |value: &&Record<'t>| {
                let field = parts.fields.get(value.text("data_input_field_id"));
                field.is_some_and(|field| {
                    field.text("data_name") == name || (name == "oid" && field.text("type_code") == "snmp_oid")
                })
            };
            let value = match name.as_str() {
                "host_id" => Some(row.text("host_id")),
                _ => {
                    let found = values.clone().find(named);
                    let field = found.and_then(|value| parts.fields.get(value.text("data_input_field_id")));
                    if field.is_some_and(|field| series::is_credential(*field)) {
                        self.tell(format!("data sources of '{data}' say their '{name}', a credential: it is left out"));
                        continue;
                    }
                    found.map(|value| value.text("value"))
                }
            };
            match value.filter(|value| !value.is_empty()) {
                Some(value) => arguments.push((name.as_str().into(), value.trim_start_matches('.').into())),
                None => self.tell(format!("data sources of '{data}' do not say their '{name}'")),
            }
        }
        arguments
    }

    pub(super) fn all_graphs(&mut self) {
        let series: HashMap<&str, Record<'t>> =
            self.tables.rows("data_template_rrd").map(|row| (row.text("id"), row)).collect();
        let own = self.tables.rows("graph_templates_graph").filter(|row| !row.is_none("local_graph_id"));
        let own: HashMap<&str, Record<'t>> = own.map(|row| (row.text("local_graph_id"), row)).collect();
        let rows: Vec<Record<'t>> = self.tables.rows("graph_local").collect();
        for row in rows {
            let Some(local) = row.number::<u32>("id") else { continue };
            let title = own.get(row.text("id")).map_or("", |own| own.text("title"));
            let shown = own.get(row.text("id")).map_or(title, |own| own.text("title_cache"));
            let Some(template) = self.graphs.get(row.text("graph_template_id")).cloned() else {
                self.tell(format!("graph {local} '{shown}': it has no template that is taken over"));
                continue;
            };
            let mut sources = Vec::new();
            for item in self.tables.shown.get(&local).into_iter().flatten() {
                let item = item.to_string();
                let data = series.get(item.as_str()).and_then(|row| row.number("local_data_id"));
                let source = data.and_then(|data: u32| self.sources.get(&data).copied());
                sources.extend(source.filter(|source| !sources.contains(source)));
            }
            if sources.is_empty() {
                self.tell(format!("graph {local} '{shown}': none of its data sources is taken over"));
                continue;
            }
            self.local_graph(local, &template, title, sources);
        }
    }

    fn local_graph(&mut self, local: u32, template: &str, title: &str, sources: Vec<u32>) {
        let library = &self.import.library;
        let of_rows = library.graphs.get(template).map(|graph| graph.data()).unwrap_or_default();
        let table = of_rows.iter().find_map(|data| library.data.get(*data)?.table.clone());
        let known = table.map(|table| self.row_fields(&table));
        let known: Option<Vec<&str>> = known.as_ref().map(|known| known.iter().map(String::as_str).collect());
        let mut told = Vec::new();
        let own = fields(title, known.as_deref(), &mut told);
        let same = self.import.library.graphs.get(template).is_some_and(|graph| graph.title.to_string() == own);
        for told in told {
            self.tell(format!("titles of graphs: {told}"));
        }
        let Some(number) = self.named(Kind::GraphTemplate, template) else { return };
        let title = (!same && !own.trim().is_empty()).then(|| own.into_boxed_str());
        let id = self.work.graphs().next();
        if self
            .change(&format!("graph {local}"), Change::Graph { id, graph: Graph { template: number, title, sources } })
        {
            self.shown.insert(local, id);
        }
    }
}

/// Whether a device is up (AVAIL_*, PING_*).
fn availability(row: Record<'_>) -> Availability {
    let port = row.number("ping_port").filter(|port| *port > 0).unwrap_or(23);
    let ping = match row.text("ping_method") {
        "2" => Probe::Udp { port },
        "3" | "4" => Probe::Tcp { port },
        _ => Probe::Icmp {},
    };
    let (probes, all) = match row.text("availability_method") {
        "0" => (Vec::new(), false),
        "1" => (vec![Probe::Snmp {}, ping], true),
        "3" => (vec![ping], false),
        "4" => (vec![Probe::Snmp {}, ping], false),
        _ => (vec![Probe::Snmp {}], false),
    };
    let timeout = row.number::<u32>("ping_timeout").filter(|time| *time > 0).unwrap_or(400);
    let retries = row.number::<u8>("ping_retries").unwrap_or(1).min(10);
    Availability { probes, all, timeout_ms: timeout.clamp(10, 60_000), retries, ..Availability::default() }
}

fn authentication(row: Record<'_>) -> Authentication {
    match row.text("snmp_auth_protocol").trim_matches(['[', ']']).replace('-', "").as_str() {
        "MD5" => Authentication::Md5,
        "SHA" | "SHA1" => Authentication::Sha1,
        "SHA224" => Authentication::Sha224,
        "SHA256" => Authentication::Sha256,
        "SHA384" | "SHA392" => Authentication::Sha384,
        "SHA512" => Authentication::Sha512,
        _ => Authentication::None,
    }
}

fn privacy(row: Record<'_>) -> Privacy {
    match row.text("snmp_priv_protocol").trim_matches(['[', ']']).replace('-', "").as_str() {
        "DES" => Privacy::Des,
        "AES" | "AES128" => Privacy::Aes128,
        "AES192" => Privacy::Aes192,
        "AES192C" => Privacy::Aes192Cisco,
        "AES256" => Privacy::Aes256,
        "AES256C" => Privacy::Aes256Cisco,
        _ => Privacy::None,
    }
}
