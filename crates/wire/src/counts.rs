//! What the tables of this crate count, listed with names and help so that jobs can show them.

/// One counter of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Metric name.
    pub name: &'static str,
    /// What it counts, for people.
    pub help: &'static str,
    /// The count.
    pub value: u64,
}

/// Makes a struct of `u64` counts; the documentation of each field is its help text. It is the counters of `kit`
/// without
/// `kit`: this crate depends on nothing of ours.
macro_rules! counts {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident { $(#[doc = $help:literal] $field:ident: $metric:literal,)+ }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $(#[doc = $help] pub $field: u64,)+ }

        impl $name {
            /// Adds another thread's counts to these.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            /// All counts with names and help.
            pub fn list(&self) -> Vec<$crate::counts::Count> {
                vec![$($crate::counts::Count { name: $metric, help: $help.trim_ascii(), value: self.$field },)+]
            }
        }
    };
}

pub(crate) use counts;
