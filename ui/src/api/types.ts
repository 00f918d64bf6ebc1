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
    worst: { id: string; from: string; to: string; mos: number | null; verdict: string | null; start: string }[];
  };
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
