//! The graphs of this process, as the status line and metrics see them.

use crate::command::repair;
use crate::failure::Failure;
use crate::run::config::Graph;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_contract::graph::Graphs as Contract;
use trunkline_contract::{Node, Server};
use trunkline_graph::job::{EchoSockets, Graphs, Handle, Options, Reloaded, Service};
use trunkline_job::{Around, Figure, Job};
use trunkline_kit::metrics::{Sample, exposition};

/// Where graphs are kept.
pub fn folder(data: &Path) -> PathBuf {
    data.join("graphs")
}

/// Where those who run are asked.
pub fn socket(data: &Path) -> PathBuf {
    folder(data).join("control.sock")
}

/// Graphs that run here.
pub struct Running {
    handle: Handle,
    service: Arc<Service>,
    /// The server first: who asks over it asks the others.
    parts: Mutex<Option<(Server, Graphs)>>,
}

fn options(settings: &Graph) -> Options {
    let octets = |octets: trunkline_kit::config::Octets| usize::try_from(octets.0).unwrap_or(usize::MAX);
    let seconds = |time: std::time::Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    let writer = trunkline_rrd::Options {
        together: settings.write_together.into(),
        age_s: seconds(settings.write_age),
        waiting_octets_max: octets(settings.memory),
        redo_octets: settings.redo.0,
        ..trunkline_rrd::Options::default()
    };
    Options {
        lanes: settings.lanes.into(),
        sockets: settings.sockets.into(),
        buffer_octets: octets(settings.socket_buffer),
        explore_every: settings.explore_every,
        journal_octets_max: settings.journal.0,
        writer,
        ..Options::default()
    }
}

impl Running {
    /// Opens the folder and begins to poll; `echo` was opened while there was the right to.
    ///
    /// # Errors
    /// What could not be opened, with what to do about it.
    pub fn start(settings: &Graph, data: &Path, echo: EchoSockets) -> Result<Running, Failure> {
        let graphs = Graphs::open_with(&folder(data), &options(settings), echo);
        let graphs = graphs.map_err(|e| {
            let hint = if e.is_damage() { repair::hint(data) } else { String::new() };
            Failure::Failed(format!("graphs: {}: {e}{hint}", folder(data).display()))
        })?;
        let (handle, path) = (graphs.handle().clone(), socket(data));
        if settings.own_device {
            handle.be_a_device().map_err(|e| Failure::Failed(format!("graphs: the program as a device: {e}")))?;
        }
        let service = Arc::new(Service::new(handle.clone()));
        let server = Server::serve::<Contract>(Arc::clone(&service) as _, &path);
        let server = server.map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))?;
        let (devices, graphs_total) = (handle.inventory().devices().len(), handle.inventory().graphs().len());
        tracing::info!(devices, graphs = graphs_total, "graphs: polling devices");
        Ok(Running { handle, service, parts: Mutex::new(Some((server, graphs))) })
    }

    /// What others of this process have of them.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Whom others of this process ask, as those of another one do over the socket.
    pub fn node(&self) -> Arc<dyn Node<Contract>> {
        Arc::clone(&self.service) as _
    }
}

impl Job for Running {
    fn name(&self) -> &'static str {
        "graphs"
    }

    /// Gives the metrics of this process to the device that it is.
    fn connect(&self, around: &Around<'_>) -> Result<(), String> {
        let samples = Arc::clone(&around.samples);
        self.handle.give_own(Arc::new(move || exposition(&samples().unwrap_or_default())));
        Ok(())
    }

    fn figures(&self) -> Vec<Figure> {
        let status = self.handle.status();
        vec![
            Figure::PerSecond("samples/s", status.journal.samples),
            Figure::Since("dropped", status.journal.dropped),
            Figure::Level("up", status.up as u64),
            Figure::Level("down", status.down as u64),
        ]
    }

    fn samples(&self) -> Vec<Sample> {
        let status = self.handle.status();
        let polls = status.polls.list().into_iter().chain(status.sockets.list()).chain(status.probes.counts.list());
        let polls = polls.chain(status.realtime.list());
        let mut samples: Vec<Sample> = polls.map(|one| Sample::counter(one.name, one.help, one.value)).collect();
        let (journal, files, probes) = (&status.journal, &status.files.counters, &status.probes);
        let gauges = [
            ("trunkline_graph_devices", "devices that are polled or probed", status.polled as f64),
            ("trunkline_graph_devices_flapping", "of these, flapping devices", status.flapping as f64),
            ("trunkline_graph_probe_devices", "devices that are probed", probes.devices as f64),
            ("trunkline_graph_probe_sources", "data sources not read by SNMP", probes.sources as f64),
            ("trunkline_graph_realtime_sources", "data sources watched in real time", status.realtime_sources as f64),
            ("trunkline_graph_probe_faults", "devices and data sources with failing probes", probes.faults as f64),
            ("trunkline_graph_devices_up", "of these, those that are up", status.up as f64),
            ("trunkline_graph_devices_down", "of these, those that are down", status.down as f64),
            ("trunkline_graph_devices_refused", "of these, devices that reject the credential", status.refused as f64),
            ("trunkline_graph_sources", "data sources that are polled", status.sources_polled as f64),
            ("trunkline_graph_outstanding_requests", "requests in flight", status.outstanding as f64),
            (
                "trunkline_graph_journal_behind_octets",
                "octets of samples on disk that are not in files yet",
                journal.behind_octets as f64,
            ),
            (
                "trunkline_graph_file_waiting_octets",
                "octets of samples in memory that wait for their files",
                status.files.waiting_octets as f64,
            ),
        ];
        samples.extend(gauges.map(|(name, help, value)| Sample::gauge(name, help, value)));
        let kinds = ["echo", "port", "program", "page"].into_iter().zip(probes.outstanding);
        samples.extend(kinds.map(|(kind, count)| {
            let help = "echo requests, ports, programs and pages in flight";
            Sample::gauge("trunkline_graph_probe_outstanding", help, count as f64).label("kind", kind)
        }));
        let counters = [
            (
                "trunkline_graph_inventory_copies_total",
                "copies of the whole inventory, made because it changed while it was read",
                status.inventory_copies,
            ),
            (
                "trunkline_graph_news_left_out_total",
                "reports of polling threads about devices that were left out: the inventory was behind",
                status.news_left_out,
            ),
            ("trunkline_graph_samples_total", "samples taken into the journal", journal.samples),
            ("trunkline_graph_samples_dropped_total", "samples dropped: the disk was behind or full", journal.dropped),
            (
                "trunkline_graph_samples_stale_total",
                "samples dropped until the rows of a restarted device were found again",
                status.stale_samples,
            ),
            (
                "trunkline_graph_samples_silent_total",
                "samples of data sources that have never answered",
                status.silent_samples,
            ),
            (
                "trunkline_graph_files_swept_total",
                "files of data sources that were removed, which a crash had left",
                status.files.files_swept,
            ),
            (
                "trunkline_graph_files_aside_total",
                "files of data sources unknown to the inventory, moved aside at the start",
                status.files.files_aside,
            ),
            ("trunkline_graph_samples_stored_total", "samples that are in files", files.samples_stored_total),
            (
                "trunkline_graph_samples_past_total",
                "samples that were duplicates or too late",
                files.samples_past_total,
            ),
            (
                "trunkline_graph_samples_refused_total",
                "samples that files rejected for other reasons",
                files.samples_refused_total,
            ),
            (
                "trunkline_graph_samples_lost_total",
                "samples whose files are gone, damaged or cannot be made",
                files.samples_lost_total + status.files.samples_lost,
            ),
            ("trunkline_graph_files_written_total", "writes of round-robin files", files.files_written_total),
            (
                "trunkline_graph_files_locked_total",
                "files that other processes had locked when a write was due",
                files.files_locked_total,
            ),
        ];
        samples.extend(counters.map(|(name, help, value)| Sample::counter(name, help, value)));
        let (drawn, scopes) = self.service.counters();
        let counters = drawn.list().into_iter().chain(scopes.list());
        samples.extend(counters.map(|one| Sample::counter(one.name, one.help, one.value)));
        samples
    }

    fn unhealthy(&self) -> Vec<String> {
        self.handle.status().troubles.into_iter().map(|trouble| format!("graphs: {trouble}")).collect()
    }

    /// Reads the templates anew; where they have mistakes, those that were read before hold.
    fn reload(&self) {
        match self.handle.reload() {
            Ok(Reloaded { changed: true, .. }) => tracing::info!("graphs: templates reloaded"),
            Ok(_) => {}
            Err(why) => self.handle.trouble(format!("templates not reloaded, the previous ones stay active: {why}")),
        }
    }

    /// What was polled is in files.
    fn stop(&self) -> Vec<String> {
        let troubles = self.handle.failure().map(|why| format!("graphs: {why}"));
        if let Some((server, graphs)) = self.parts.lock().unwrap_or_else(PoisonError::into_inner).take() {
            drop(server);
            self.service.end();
            graphs.stop();
        }
        troubles.into_iter().collect()
    }
}
