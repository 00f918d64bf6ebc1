//! All integration tests of trunkline, one binary: it is linked once, and what tests share is compiled once.

mod again;
mod alerts;
mod browser;
mod cache;
mod cache_clients;
mod cache_hostile;
mod cache_image;
mod cache_load;
mod cache_route;
mod cache_warm;
mod caches;
mod charge_bill;
mod charge_calls;
mod charge_clients;
mod charge_clock;
mod charge_damage;
mod charge_forward;
mod charge_gtpp;
mod charge_kills;
mod charge_load;
mod charge_load_node;
mod charge_records;
mod charge_standby;
mod commands;
mod config;
mod damage_walk;
mod doctor;
mod doctor_live;
#[path = "../../../kit/tests/shared/eventually.rs"]
mod eventually;
mod graph_farm;
mod graph_probes;
mod graph_run;
mod graph_way;
mod gtpp;
mod gy;
mod memcached;
#[path = "../../../replica/tests/all/nats_server/mod.rs"]
mod nats_server;
mod packet_log;
#[path = "../../../kit/tests/shared/ports.rs"]
mod ports;
mod reports;
mod responder;
mod run;
mod run_cache;
mod run_faults;
mod run_kills;
mod run_web;
mod store_days;
mod stripped;
mod verify;
mod web;
mod wire;
mod wireshark;
mod without_libpcap;
