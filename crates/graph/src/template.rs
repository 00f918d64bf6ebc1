//! Templates: what a data source reads, and how a graph looks.
