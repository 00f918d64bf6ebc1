//! The machine: capabilities, kernel, memory, processors, clock.

use crate::doctor::Finding;
use crate::doctor::facts::{Machine, Wanted};
use crate::show::figure;
use trunkline_capture::filter::{INSTALL, LibraryError};

/// The first kernel with TPACKET_V3.
const KERNEL_MIN: (u32, u32) = (3, 2);
/// Of the memory that is available, what rings and buffer may take, percent.
const MEMORY_PERCENT_MAX: u64 = 80;
/// Clock sources that take a system call or slow hardware for each time.
const SLOW_CLOCKS: [&str; 3] = ["hpet", "acpi_pm", "jiffies"];
/// All that a capture of any kind can need.
const CAPABILITIES: &str = "cap_net_raw,cap_net_admin,cap_ipc_lock,cap_bpf,cap_perfmon";
/// How far off a clock that is kept may be, microseconds.
const CLOCK_ERROR_US_MAX: u64 = 1_000_000;

pub fn judge(machine: &Machine, wanted: &Wanted) -> Vec<Finding> {
    let all = [
        capabilities(machine, wanted),
        kernel(machine),
        xdp(machine, wanted),
        io_uring(machine),
        echo(machine, wanted),
        filters(machine),
        libpcap(machine, wanted),
        memory(machine, wanted),
        locked(machine, wanted),
        processors(machine, wanted),
        clock(machine),
        clock_source(machine),
    ];
    all.into_iter().flatten().collect()
}

fn capabilities(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let has = machine.capabilities;
    let (admin, xdp) = (wanted.xdp || wanted.hardware_timestamps, wanted.xdp);
    let all = [
        ("CAP_NET_RAW", has.net_raw, true, "all packets: none could be captured"),
        ("CAP_NET_ADMIN", has.net_admin, admin, "AF_XDP or hardware timestamps: they cannot be set up"),
        ("CAP_BPF", has.bpf, xdp, "AF_XDP: it cannot be set up"),
        ("CAP_PERFMON", has.perfmon, xdp, "AF_XDP: it cannot be set up"),
    ];
    let names = |missing: &dyn Fn(bool) -> bool| {
        let named = all.iter().filter(|(_, has, needed, _)| !has && missing(*needed)).map(|(name, ..)| *name);
        named.collect::<Vec<_>>().join(", ")
    };
    let (needed, other) = (names(&|needed| needed), names(&|needed| !needed));
    let Some((.., lost)) = all.iter().find(|(_, has, needed, _)| *needed && !has) else {
        return Some(Finding::good(
            "capabilities",
            "",
            match other.is_empty() {
                true => "all that any capture needs".to_owned(),
                false => format!("all that this capture needs; others would need {other}"),
            },
        ));
    };
    let fix = format!("sudo setcap {CAPABILITIES}+ep {}", machine.program.display());
    Some(Finding::bad("capabilities", "", format!("missing: {needed}")).loses(*lost).fix(fix))
}

fn kernel(machine: &Machine) -> Option<Finding> {
    if machine.packet_sockets == Some(false) {
        let finding = Finding::bad("kernel", "", format!("{} without AF_PACKET", machine.kernel));
        return Some(finding.loses("nothing can be captured").fix("sudo modprobe af_packet"));
    }
    let version = version(&machine.kernel)?;
    if version < KERNEL_MIN {
        let finding = Finding::bad("kernel", "", format!("{}: older than TPACKET_V3", machine.kernel));
        return Some(finding.loses("nothing can be captured"));
    }
    Some(Finding::good("kernel", "", format!("{}: TPACKET_V3", machine.kernel)))
}

/// Major and minor number of `6.1.0-13-amd64`.
fn version(kernel: &str) -> Option<(u32, u32)> {
    let mut numbers = kernel.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn xdp(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    Some(match (machine.xdp_sockets?, wanted.xdp) {
        (true, _) => Finding::good("af-xdp", "", "the kernel has it"),
        (false, false) => Finding::good("af-xdp", "", "the kernel has none; it is not asked for"),
        (false, true) => Finding::bad("af-xdp", "", "the kernel has none")
            .loses("nothing can be captured with source = \"af-xdp\"")
            .fix("in the configuration: [capture] source = \"af-packet\""),
    })
}

fn io_uring(machine: &Machine) -> Option<Finding> {
    Some(match machine.io_uring.as_ref()? {
        Ok(()) => Finding::good("io_uring", "", "works"),
        Err(why) => Finding::warn("io_uring", "", format!("does not work here: {why}"))
            .loses("nothing; segments are written by plain calls, which costs more processor time")
            .fix("sudo sysctl kernel.io_uring_disabled=0"),
    })
}

fn echo(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let [v4, v6] = machine.echo.as_ref()?;
    let missing = match (v4, v6) {
        (Ok(()), Ok(())) => return Some(Finding::good("echo", "", "ICMP echo requests can be sent")),
        (Err(why), _) => why,
        (Ok(()), Err(why)) => why,
    };
    if !wanted.graphs {
        return Some(Finding::good("echo", "", "ICMP echo requests cannot be sent; they are not asked for"));
    }
    let seen = missing.split(':').next().unwrap_or(missing);
    let finding = Finding::warn("echo", "", seen).loses("whether devices answer ICMP echo, loss and latency: unknown");
    Some(finding.fix("sudo sysctl -w net.ipv4.ping_group_range=\"0 2147483647\""))
}

fn filters(machine: &Machine) -> Option<Finding> {
    Some(match machine.filters_compiled? {
        true => Finding::good("filters", "", "the kernel compiles them"),
        false => Finding::warn("filters", "", "the kernel interprets them (net.core.bpf_jit_enable is 0)")
            .loses("some of the highest packet rate: each packet passes a filter that chooses its lane")
            .fix("sudo sysctl net.core.bpf_jit_enable=1"),
    })
}

fn libpcap(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let why = match machine.libpcap.as_ref()? {
        Ok(name) => return Some(Finding::good("libpcap", "", format!("{name} compiles filters"))),
        Err(LibraryError::Missing) => "filters do not work: libpcap is not installed".to_owned(),
        Err(other) => format!("filters do not work: {other}"),
    };
    let finding = match wanted.filter {
        true => Finding::bad("libpcap", "", why).loses("all packets: a capture with [capture] filter does not start"),
        false => Finding::warn("libpcap", "", why)
            .loses("nothing; [capture] filter and extractions by expressions that libpcap compiles are refused"),
    };
    Some(finding.fix(format!("sudo {INSTALL}")))
}

fn lanes(machine: &Machine, wanted: &Wanted) -> u64 {
    match wanted.lanes {
        0 => machine.processors.saturating_sub(1).max(1) as u64,
        lanes => u64::from(lanes),
    }
}

fn memory(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let available = machine.memory_available?;
    let lanes = lanes(machine, wanted);
    let needed = lanes.saturating_mul(wanted.ring).saturating_add(if wanted.record { wanted.memory } else { 0 });
    let seen = format!(
        "{} available; {} of {} and the buffer take {}",
        figure::octets(available),
        figure::of(lanes, "ring", "rings"),
        figure::octets(wanted.ring),
        figure::octets(needed)
    );
    if needed <= available / 100 * MEMORY_PERCENT_MAX {
        return Some(Finding::good("memory", "", seen));
    }
    let finding = if needed > available { Finding::bad("memory", "", seen) } else { Finding::warn("memory", "", seen) };
    Some(
        finding
            .loses("the system may end the program, or pages move to disk and packets are lost meanwhile")
            .fix("in the configuration: less for [capture] ring and lanes, or [record] memory"),
    )
}

fn locked(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let (limit, needed) = (machine.locked_max?, wanted.ring);
    let seen = format!("at most {} of memory may be locked (ulimit -l)", figure::octets(limit));
    if machine.capabilities.ipc_lock || limit >= needed || !wanted.xdp {
        return Some(Finding::good("locked memory", "", seen));
    }
    let finding = Finding::bad("locked memory", "", seen).loses("all packets: AF_XDP locks its frames");
    Some(finding.fix("ulimit -l unlimited; in the systemd unit: LimitMEMLOCK=infinity"))
}

fn processors(machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let (processors, lanes) = (machine.processors as u64, lanes(machine, wanted));
    let seen = format!("{}, {}", figure::of(processors, "processor", "processors"), figure::of(lanes, "lane", "lanes"));
    if lanes > processors {
        let finding = Finding::warn("processors", "", seen).loses("lanes take processors from each other");
        return Some(finding.fix("in the configuration: [capture] lanes = 0"));
    }
    match machine.governor.as_deref() {
        Some("powersave" | "conservative") => Some(
            Finding::warn("processors", "", format!("{seen}, slowed down to save power"))
                .loses("packets in the moments that a processor needs to become fast again")
                .fix("sudo cpupower frequency-set -g performance"),
        ),
        _ => Some(Finding::good("processors", "", seen)),
    }
}

fn clock(machine: &Machine) -> Option<Finding> {
    let clock = machine.clock?;
    let error = figure::milliseconds(clock.error_us_max as f64 / 1e3);
    Some(match clock.is_kept && clock.error_us_max <= CLOCK_ERROR_US_MAX {
        true => Finding::good("clock", "", format!("kept right, at most {error} off")),
        false => {
            let seen = if clock.is_kept { format!("may be {error} off") } else { "nothing keeps it right".to_owned() };
            Finding::warn("clock", "", seen)
                .loses("times cannot be compared with those of other machines")
                .fix("sudo apt install chrony; sudo timedatectl set-ntp true")
        }
    })
}

fn clock_source(machine: &Machine) -> Option<Finding> {
    let (source, others) = machine.clock_source.as_ref()?;
    if !SLOW_CLOCKS.contains(&source.as_str()) {
        return Some(Finding::good("clock source", "", source.clone()));
    }
    let finding = Finding::warn("clock source", "", format!("{source}, which is slow to read"))
        .loses("some of the highest packet rate: each packet is stamped");
    let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    Some(match others.iter().find(|other| !SLOW_CLOCKS.contains(&other.as_str())) {
        Some(better) => finding.fix(format!("echo {better} | sudo tee {file}")),
        None => finding,
    })
}
