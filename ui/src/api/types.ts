// Short names for what the API answers. The shapes are made from its document, crates/web/openapi.json, by
// `npm run types`: what the program does not send, no page can read.

import type { components } from "./schema";

type Shapes = components["schemas"];
/** A field that the document lets be absent is there, or null: the program sends every field of these. */
type Whole<T> = T extends (infer E)[] ? Whole<E>[] : T extends object ? { [K in keyof T]-?: Whole<Exclude<T[K], undefined>> } : T;

// Who is signed in.
export type Role = Shapes["Role"];
export type Mode = Shapes["Mode"];
export type Session = Whole<Shapes["Session"]>;
export type SignedInSession = Whole<Shapes["SessionShown"]>;

// Calls.
export type Call = Whole<Shapes["Call"]>;
export type OtherNumber = Whole<Shapes["OtherNumber"]>;
export type CallState = Shapes["CallState"];
export type CaptureLedger = Whole<Shapes["CaptureLedger"]>;
export type MosRange = Whole<Shapes["MosRange"]>;
export type Stream = Whole<Shapes["Stream"]>;
export type SharedStream = Whole<Shapes["SharedStream"]>;
export type CallsPage = Whole<Shapes["CallsPage"]>;
export type Skipped = Whole<Shapes["SkippedDay"]>;
export type CallsBucket = Whole<Shapes["CallsBucket"]>;
export type CallsTotals = Whole<Shapes["CallsTotals"]>;
export type CallsSummary = Whole<Shapes["CallsSummary"]>;
export type FilterField = Whole<Shapes["FilterField"]>;
export type SavedFilter = Whole<Shapes["SavedFilter"]>;
export type CaptureRead = Whole<Shapes["Capture"]>;

// The page of one call.
export type Ladder = Whole<Shapes["Ladder"]>;
export type LadderMessage = Whole<Shapes["LadderMessage"]>;
export type CallWithLadder = Whole<Shapes["CallWithLadder"]>;
export type Interval = Whole<Shapes["Interval"]>;
export type StreamIntervals = Whole<Shapes["StreamIntervals"]>;
export type CallIntervals = Whole<Shapes["Intervals"]>;
export type CallMessages = Whole<Shapes["Messages"]>;
export type Alias = Whole<Shapes["Alias"]>;

// What is live.
export type ByClass = Whole<Shapes["ByClass"]>;
export type LaneSnapshot = Whole<Shapes["LaneSnapshot"]>;
export type VolumeSnapshot = Whole<Shapes["VolumeSnapshot"]>;
export type NotAnalysed = Whole<Shapes["NotAnalysed"]>;
export type ClockSteps = Whole<Shapes["ClockSteps"]>;
export type LiveSnapshot = Whole<Shapes["LiveSnapshot"]>;
export type LiveStatus = Whole<Shapes["Status"]>;
export type Attention = Whole<Shapes["Attention"]>;
export type CallBrief = Whole<Shapes["CallBrief"]>;
export type CallUp = Whole<Shapes["CallUp"]>;

// The program itself.
export type SystemMoment = Whole<Shapes["Moment"]>;
export type SystemAnswer = Whole<Shapes["System"]>;

// Caches.
export type CachesPage = Whole<Shapes["CachesPage"]>;
export type CacheState = Whole<Shapes["CacheState"]>;
export type CacheSnapshot = Whole<Shapes["CacheSnapshot"]>;
export type CacheBar = Whole<Shapes["CacheBar"]>;
export type CacheHistory = Whole<Shapes["CacheHistory"]>;
export type CacheMoment = Whole<Shapes["CacheMoment"]>;

// Charging.
export type ChargeStatus = Whole<Shapes["ChargeStatus"]>;
export type ChargeNode = Whole<Shapes["ChargeNode"]>;
export type ChargePoint = Whole<Shapes["ChargePoint"]>;
export type ChargeRates = Whole<Shapes["ChargeRates"]>;
export type ChargePeer = Whole<Shapes["ChargePeer"]>;
export type ChargeCall = Whole<Shapes["ChargeCall"]>;
export type ChargePeers = Whole<Shapes["ChargePeers"]>;
export type ChargeSession = Whole<Shapes["ChargeSession"]>;
export type ChargeSessionsPage = Whole<Shapes["ChargeSessionsPage"]>;
export type ChargeEvent = Whole<Shapes["ChargeEvent"]>;
export type ChargeTimeline = Whole<Shapes["ChargeTimelinePage"]>;
export type ChargeAccount = Whole<Shapes["ChargeAccount"]>;
export type ChargeSubscriber = Whole<Shapes["ChargeSubscriber"]>;
export type ChargeLine = Whole<Shapes["ChargeLine"]>;
export type ChargeLedgerPage = Whole<Shapes["ChargeLedgerPage"]>;
export type ChargeUsage = Whole<Shapes["ChargeUsage"]>;
export type ChargeDone = Whole<Shapes["ChargeDone"]>;
export type ChargePlan = Whole<Shapes["ChargePlan"]>;
export type ChargePlans = Whole<Shapes["ChargePlans"]>;
export type ChargePlanVersion = Whole<Shapes["ChargePlanVersion"]>;
export type ChargeChecked = Whole<Shapes["ChargeChecked"]>;
export type ChargeTryout = Whole<Shapes["ChargeTryout"]>;
export type ChargeTryouts = Whole<Shapes["ChargeTryouts"]>;
export type ChargeTried = Whole<Shapes["ChargeTried"]>;
export type ChargeTriedGroup = Whole<Shapes["ChargeTriedGroup"]>;
export type ChargeBill = Whole<Shapes["ChargeBill"]>;
export type ChargeComparison = Whole<Shapes["ChargeComparison"]>;
export type ChargeComparisons = Whole<Shapes["ChargeComparisons"]>;
export type ChargeCompared = Whole<Shapes["ChargeCompared"]>;
export type ChargeComparedKind = Whole<Shapes["ChargeComparedKind"]>;
export type ChargeDifference = Whole<Shapes["ChargeDifference"]>;
export type ChargeDifferencesPage = Whole<Shapes["ChargeDifferencesPage"]>;
export type ChargeRating = Whole<Shapes["ChargeRating"]>;
export type ChargeRatings = Whole<Shapes["ChargeRatings"]>;
export type ChargeRated = Whole<Shapes["ChargeRated"]>;
export type ChargeRatedTotal = Whole<Shapes["ChargeRatedTotal"]>;
export type ChargeRatedCall = Whole<Shapes["ChargeRatedCall"]>;
export type ChargeRatedCallsPage = Whole<Shapes["ChargeRatedCallsPage"]>;
export type ChargeRecords = Whole<Shapes["ChargeRecords"]>;
export type ChargeSentOn = Whole<Shapes["ChargeSentOn"]>;
export type CallCharge = Whole<Shapes["CallCharge"]>;
export type CallCharges = Whole<Shapes["CallCharges"]>;

// The packet log.
export type Segment = Whole<Shapes["SegmentInfo"]>;
export type Retention = Whole<Shapes["RetentionInfo"]>;
export type Loss = Whole<Shapes["Loss"]>;
export type PacketTimeline = Whole<Shapes["Timeline"]>;
export type Extraction = Whole<Shapes["Extraction"]>;

// Settings.
export type User = Whole<Shapes["UserShown"]>;
export type Token = Whole<Shapes["TokenShown"]>;
export type AuditEntry = Whole<Shapes["AuditEntry"]>;

// Registrations and other transactions.
export type Registration = Whole<Shapes["Registration"]>;
export type SipEvent = Whole<Shapes["SipEvent"]>;

// Graphs.
export type GraphStatus = Whole<Shapes["GraphStatus"]>;
export type GraphDevices = Whole<Shapes["GraphDevices"]>;
export type GraphDeviceBrief = Whole<Shapes["GraphDeviceBrief"]>;
export type GraphDevice = Whole<Shapes["GraphDevice"]>;
export type GraphList = Whole<Shapes["GraphList"]>;
export type GraphBrief = Whole<Shapes["GraphBrief"]>;
export type GraphShown = Whole<Shapes["GraphShown"]>;
export type GraphTrees = Whole<Shapes["GraphTrees"]>;
export type GraphNodes = Whole<Shapes["GraphNodes"]>;
export type GraphNode = Whole<Shapes["GraphNode"]>;
export type GraphPictures = Whole<Shapes["GraphPictures"]>;
export type GraphRealtime = Whole<Shapes["GraphRealtime"]>;
export type GraphPicture = Whole<Shapes["GraphPicture"]>;
export type GraphSeries = Whole<Shapes["GraphSeries"]>;
export type GraphTemplateList = Whole<Shapes["GraphTemplateList"]>;
export type GraphFiguresList = Whole<Shapes["GraphFiguresList"]>;
export type GraphRights = Whole<Shapes["GraphRightsShown"]>;
export type GraphRule = Whole<Shapes["GraphRuleShown"]>;
export type GraphRuleTold = Whole<Shapes["GraphRuleTold"]>;
export type GraphPreview = Whole<Shapes["GraphPreview"]>;
export type GraphCredentials = Whole<Shapes["GraphCredentials"]>;
export type GraphBehind = Whole<Shapes["GraphBehind"]>;
export type GraphMap = Whole<Shapes["GraphMap"]>;
export type GraphMapNode = Whole<Shapes["GraphMapNode"]>;
export type GraphLink = Whole<Shapes["GraphLink"]>;
export type GraphLinkEnd = Whole<Shapes["GraphLinkEnd"]>;
export type GraphStop = Whole<Shapes["GraphStop"]>;
export type GraphLoss = Whole<Shapes["GraphLoss"]>;
export type GraphWays = Whole<Shapes["GraphWays"]>;
export type CallWay = Whole<Shapes["CallWay"]>;
export type Losses = Whole<Shapes["Losses"]>;
export type GraphTemplates = Whole<Shapes["GraphTemplates"]>;

// Alerts.
export type AlertStatus = Whole<Shapes["AlertStatus"]>;
export type Alerts = Whole<Shapes["Alerts"]>;
export type Alert = Whole<Shapes["Alert"]>;
export type AlertFull = Whole<Shapes["AlertFull"]>;
export type AlertStep = Whole<Shapes["AlertStep"]>;
export type AlertsPending = Whole<Shapes["AlertsPending"]>;
export type AlertPending = Whole<Shapes["AlertPending"]>;
export type AlertSilence = Whole<Shapes["AlertSilence"]>;
export type AlertWindow = Whole<Shapes["AlertWindow"]>;
export type AlertSilences = Whole<Shapes["AlertSilences"]>;
export type AlertRule = Whole<Shapes["AlertRule"]>;
export type AlertRules = Whole<Shapes["AlertRules"]>;
export type AlertRuleFull = Whole<Shapes["AlertRuleFull"]>;
export type AlertChannel = Whole<Shapes["AlertChannel"]>;
export type AlertChannels = Whole<Shapes["AlertChannels"]>;
export type AlertTested = Whole<Shapes["AlertTested"]>;
export type AlertChecked = Whole<Shapes["AlertChecked"]>;
export type LiveAlerts = Whole<Shapes["LiveAlerts"]>;
