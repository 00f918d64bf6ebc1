//! The inventory: devices, data sources, graphs and trees, as a fold of entries.
