//! Counters that a thread owns and that are added up on demand: no lock and no shared cache line where they count.

/// One counter as it is shown: its metric name, what it counts, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Metric name: `trunkline_<job>_<what>_<unit>_total`.
    pub name: &'static str,
    /// What it counts, for people.
    pub help: &'static str,
    /// The count.
    pub value: u64,
}

/// Makes a struct of `u64` counters with their metric names; the documentation of each field is its help text.
///
/// ```
/// trunkline_kit::counters! {
///     /// What the reader counts.
///     pub struct Read {
///         /// packets read from files
///         packets: "trunkline_capture_packets_total",
///     }
/// }
/// let mut sum = Read::default();
/// sum.add(&Read { packets: 2 });
/// assert_eq!(sum.list()[0].value, 2);
/// assert_eq!(sum.list()[0].help, "packets read from files");
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident { $(#[doc = $help:literal] $field:ident: $metric:literal,)+ }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name { $(#[doc = $help] pub $field: u64,)+ }

        impl $name {
            /// Adds another thread's counts to these.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            /// All counters with names and help.
            pub fn list(&self) -> Vec<$crate::counters::Counted> {
                vec![$($crate::counters::Counted { name: $metric, help: $help.trim_ascii(), value: self.$field },)+]
            }
        }
    };
}
