// Short names for what the API answers, made from its document (`npm run types`); pages import from here.

export type Role = "viewer" | "support" | "engineer" | "administrator";
export type Mode = "run" | "web" | "open" | "demo";

export interface Session {
  signed_in: boolean;
  first_run: boolean;
  oidc: { label: string } | null;
  user: { name: string; display_name: string; role: Role; must_change_password: boolean } | null;
  csrf: string | null;
  may: string[];
  version: string;
  mode: Mode;
  uploads: boolean;
}

export interface CaptureLedger {
  complete: boolean;
  lost_at_tap: number;
  lost_at_tap_least: number;
  lost_before_tap: number;
  note: string | null;
}

export interface MosRange {
  low: number;
  high: number;
}

export interface Stream {
  id: string;
  call: string | null;
  ssrc: string;
  src: string | null;
  dst: string | null;
  direction: "caller" | "callee" | null;
  codec: string | null;
  clock_rate: number | null;
  packets: number;
  expected: number;
  lost: number;
  missing: number;
  duplicates: number;
  reordered: number;
  jitter_mean_ms: number;
  jitter_max_ms: number;
  first: string;
  last: string;
  mos: { g107: number | null; scale: string | null; vm_f1: number | null; vm_f2: number | null; vm_adapt: number | null };
  mos_range: MosRange | null;
  lost_at_tap: number;
  lost_at_tap_least: number;
  loss_runs: number[];
  delay_histogram: number[];
  payload_types: number[];
  ptime_ms: number | null;
  octets: number;
  discarded: number;
  burst_ratio: number | null;
  talkspurts: number;
  comfort_noise: number;
  dtmf: string | null;
  encrypted: boolean;
  rtcp: {
    sender_reports: number;
    receiver_reports: number;
    lost: number | null;
    fraction_max: number;
    jitter_max_ms: number | null;
    round_trip_ms: number | null;
    sent: number | null;
    missing_here: number | null;
  };
  skew_ppm: number | null;
  dscp: number;
  packet_first: number;
  packet_last: number;
}

export type CallState =
  | "attempted"
  | "trying"
  | "ringing"
  | "auth-challenged"
  | "redirected"
  | "rejected"
  | "cancelled"
  | "answered"
  | "completed";

export interface Call {
  id: string;
  sip_call_id: string;
  state: CallState;
  from: string;
  to: string;
  from_uri: string;
  to_uri: string;
  start: string;
  answer: string | null;
  end: string | null;
  pdd_ms: number | null;
  setup_ms: number | null;
  duration_ms: number | null;
  code: number | null;
  reason: string | null;
  hangup: "caller" | "callee" | "none";
  src: string | null;
  dst: string | null;
  user_agent: string | null;
  mos: number | null;
  mos_range: MosRange | null;
  capture: CaptureLedger;
  verdict: string | null;
  verdict_kind: string | null;
  verdict_packets: number[];
  streams: Stream[];
  ringing: string | null;
  last: string;
  messages: number;
  files: string[];
}

export interface LadderMessage {
  at: string;
  src: number;
  dst: number;
  method: string;
  status: number | null;
  cseq: number;
  text: string | null;
  sdp: boolean;
  retransmission: boolean;
  odd: boolean;
  cut: boolean;
  tcp: boolean;
  copy: boolean;
  octets: number;
  packet: number;
  file: number;
  offset: number;
}

export interface Ladder {
  hosts: string[];
  messages: LadderMessage[];
  not_kept: number;
}

export interface CallWithLadder extends Call {
  ladder: Ladder;
}

export interface Skipped {
  day: string;
  why: string;
}

export interface CallsPage {
  calls: Call[];
  next: string | null;
  skipped: Skipped[];
  /** Whether the search was given up after some seconds before the page was full: `next` goes on. */
  stopped?: boolean;
  took_ms: number;
}

export interface Alias {
  match: string;
  name: string;
}

export interface ByClass {
  sip: number;
  rtp: number;
  other: number;
}

export interface LaneSnapshot {
  lane: number;
  interface: string;
  up: boolean;
  packets_total: number;
  octets_total: number;
  drops_total: number;
  ring_fill: number;
}

export interface VolumeSnapshot {
  path: string;
  written_octets_total: number;
  waits_total: number;
  waited_ms_total: number;
  free_octets: number;
  size_octets: number;
  writable: boolean;
}

export interface LiveSnapshot {
  at_ns: number;
  since_ns: number;
  source: "live" | "demo";
  calls_up: number;
  calls_started_total: number;
  calls_finished_total: number;
  packets_total: ByClass;
  octets_total: number;
  lanes: LaneSnapshot[];
  buffer: { used_octets: number; limit_octets: number; squeezed: number | null } | null;
  volumes: VolumeSnapshot[];
  drops_total: Record<string, number>;
  threads: { name: string; cpu_s_total: number }[];
  resident_octets: number;
  unhealthy: string[];
}

export interface Attention {
  kind: string;
  text: string;
  link: string | null;
}

export interface LiveStatus extends LiveSnapshot {
  rates: {
    calls_per_s: number;
    answer_ratio: number | null;
    packets_per_s: ByClass;
    bits_per_s: number;
    drops_per_s: Record<string, number>;
  };
  attention: Attention[];
  last_minute: {
    calls: number;
    answered: number;
    bad: number;
    worst: CallBrief[];
  };
}

export interface CallBrief {
  id: string;
  from: string;
  to: string;
  start: string;
  mos: number | null;
  verdict: string | null;
}

export interface CallUp {
  id: string;
  sip_call_id: string;
  from: string;
  to: string;
  start_ns: number;
  answer_ns: number | null;
  state: CallState;
  src: string;
  dst: string;
}

// Calls: what a selection adds up to, what a filter may ask, saved filters, captures that were brought.

export interface CallsBucket {
  at: string;
  calls: number;
  answered: number;
  failed: number;
  bad: number;
}

export interface CallsTotals {
  calls: number;
  answered: number;
  completed: number;
  cancelled: number;
  redirected: number;
  rejected_4xx: number;
  rejected_5xx: number;
  rejected_6xx: number;
  bad: number;
  asr: number | null;
  ner: number | null;
  acd_s: number | null;
  pdd_ms: number | null;
  mos: number | null;
}

export interface CallsSummary {
  from: string;
  to: string;
  bucket_s: number;
  buckets: CallsBucket[];
  totals: CallsTotals;
  exact: boolean;
  seen_from: string | null;
  skipped?: Skipped[];
  took_ms: number;
}

export interface FilterField {
  name: string;
  aliases: string[];
  kind: string;
  help: string;
  examples: string[];
  values: string[] | null;
}

export interface SavedFilter {
  name: string;
  text: string;
  shared: boolean;
  /** Who saved it last. */
  by: string;
}

export interface CaptureRead {
  id: string;
  name: string;
  state: "waiting" | "receiving" | "reading" | "running" | "done" | "failed" | "cancelled";
  read_octets: number;
  total_octets: number;
  packets: number;
  calls: number;
  error: string | null;
  from?: string | null;
  to?: string | null;
}

// The program itself.

export interface SystemMoment {
  at: string;
  packets_per_s: number;
  bits_per_s: number;
  ring_fill: number;
  buffer_fill: number;
  drops: number;
}

export interface SystemAnswer {
  live: LiveSnapshot | null;
  build: { version: string; mode: Mode; pages: boolean };
  days: { day: string; octets: number }[];
  history: SystemMoment[];
  history_every_s: number;
}

// The packet log.

export interface Segment {
  name: string;
  class: string;
  lane: number;
  from: string | null;
  to: string | null;
  packets: number | null;
  octets: number;
  stored_octets: number;
  state: string;
  compressed: boolean;
  pinned: boolean;
}

export interface Retention {
  class: string;
  rule: string;
  stored_octets: number;
  limit_octets: number | null;
  limit_s: number | null;
  oldest: string | null;
  days_estimated: number | null;
}

export interface Loss {
  since: string;
  at: string;
  place: string;
  source: string;
  count: number;
}

export interface PacketTimeline {
  from: string;
  to: string;
  bucket_s: number;
  buckets: { at: string; octets: ByClass; packets: number | null; lost: number }[];
  losses: Loss[];
  retention: Retention[];
  oldest: string | null;
  newest: string | null;
}

export interface Extraction {
  id: string;
  state: "running" | "done" | "failed" | "cancelled";
  read_octets: number;
  total_octets: number;
  packets: number;
  octets: number;
  from: string;
  to: string;
  filter: string;
  error: string | null;
  /** What was not found, though the extraction ended: damaged or deleted segments. */
  faults: string[];
}

// Settings.

export interface User {
  name: string;
  display_name: string;
  role: Role;
  locked: boolean;
  /** After too many wrong passwords. */
  held_off_until: string | null;
  last_sign_in: string | null;
  has_password: boolean;
  must_change_password: boolean;
  oidc: boolean;
}

export interface Token {
  id: number;
  user: string;
  name: string;
  scopes: string[];
  created: string;
  expires: string | null;
  last_used: string | null;
}

export interface AuditEntry {
  at: string;
  user: string | null;
  address: string | null;
  action: string;
  object: string;
  outcome: string;
}

// Registrations and other transactions.

export interface Registration {
  id: string;
  sip_call_id: string;
  aor: string;
  user: string;
  contact: string | null;
  expires: number | null;
  start: string;
  end: string | null;
  response_ms: number | null;
  code: number | null;
  reason: string | null;
  src: string | null;
  dst: string | null;
  user_agent: string | null;
  requests: number;
  retransmissions: number;
  verdict: string | null;
  verdict_kind: string | null;
  verdict_packets: number[];
}

export interface SipEvent {
  id: string;
  method: string;
  sip_call_id: string;
  from: string;
  to: string;
  start: string;
  end: string | null;
  response_ms: number | null;
  code: number | null;
  reason: string | null;
  src: string | null;
  dst: string | null;
  retransmissions: number;
}

// The page of one call.

export interface Interval {
  index: number;
  start: string;
  packets: number;
  missing: number;
  duplicates: number;
  reordered: number;
  jitter_mean_ms: number | null;
  jitter_max_ms: number | null;
  mos: { g107: number | null; vm_f1: number | null; vm_f2: number | null; vm_adapt: number | null };
}

export interface StreamIntervals {
  stream: string;
  ssrc: string;
  intervals: Interval[];
}

export interface CallIntervals {
  streams: StreamIntervals[];
}

export interface CallMessages {
  messages: { index: number; text: string | null }[];
}
