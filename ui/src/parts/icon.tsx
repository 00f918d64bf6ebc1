// Signs of the pages, drawn for them: 20 units square, one stroke.

import type { JSX } from "solid-js";

const PATHS = {
  now: "M3 12h3l2-6 3 10 2-7 1.5 3H17",
  calls: "M4 5h12M4 10h12M4 15h8",
  call: "M5 3v14M15 3v14M5 6h8l-2-1.5M13 6l-2 1.5M15 12H7l2-1.5M7 12l2 1.5",
  registrations: "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 17c0-3 2.7-5 6-5s6 2 6 5",
  packets: "M3 6l7-3 7 3v8l-7 3-7-3zM3 6l7 3 7-3M10 9v8",
  system: "M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01",
  cache: "M3 5.500c0-1.400 3.100-2.500 7-2.500s7 1.100 7 2.500-3.100 2.500-7 2.500-7-1.100-7-2.500ZM3 5.500v9c0 1.400 3.100 2.500 7 2.500s7-1.100 7-2.500v-9M3 10c0 1.400 3.100 2.500 7 2.500s7-1.100 7-2.500",
  charge: "M3 6.500h14v9H3zM3 9.500h14M6 13h3M5 6.500V4.500h10v2",
  graphs: "M3 3v14h14M6 13l3-4 3 2 4-6",
  alerts: "M10 3a5 5 0 0 0-5 5v4l-1.500 2.500h13L15 12V8a5 5 0 0 0-5-5ZM8 17.500h4",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
  search: "M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10ZM13 13l4 4",
  close: "M5 5l10 10M15 5L5 15",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  left: "M12 5l-5 5 5 5",
  download: "M10 3v9M6 9l4 4 4-4M4 16h12",
  link: "M8 12l4-4M7 9l-2 2a3 3 0 0 0 4 4l2-2M9 7l2-2a3 3 0 0 1 4 4l-2 2",
  copy: "M7 7h9v9H7zM4 13V4h9",
  good: "M4 10.5l4 4 8-9",
  warn: "M10 3l8 14H2zM10 8v4M10 14.5v.01",
  bad: "M6.5 2.5h7l4 4v7l-4 4h-7l-4-4v-7zM7 7l6 6M13 7l-6 6",
  note: "M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15ZM10 9v5M10 6v.01",
  sun: "M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7ZM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1",
  clock: "M10 2.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15ZM10 5.5V10l3 2",
  filter: "M3 4h14l-5.5 6.5V16l-3 1.5v-7z",
  columns: "M3 4h14v12H3zM8 4v12M13 4v12",
  star: "M10 2.8l2.2 4.6 5 .7-3.6 3.5.9 5-4.5-2.4-4.5 2.4.9-5L2.8 8.1l5-.7z",
  plus: "M10 4v12M4 10h12",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10h6.6L14 6",
  upload: "M10 13V4M6 7l4-4 4 4M4 16h12",
  out: "M8 4H4v12h4M9 10h8M14 7l3 3-3 3",
  key: "M7 13a3.5 3.5 0 1 1 2.5-6L17 7v3h-2v2h-2v-2h-2.6",
  menu: "M3 5h14M3 10h14M3 15h14",
  pin: "M7 3h6l-1 5 3 3H5l3-3zM10 11v6",
  phone: "M5 3l3 .5 1 3.5-2 1.5c1 2 2.5 3.500 4.500 4.500L13 11l3.500 1 .5 3c0 1-1 2-2 2C8.500 17 3 11.500 3 5c0-1 1-2 2-2Z",
} as const;

export type IconName = keyof typeof PATHS;

/** Decoration: what it says stands beside it in words, or in the label of the control. */
export function Icon(props: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg
      width={props.size ?? 18}
      height={props.size ?? 18}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      class="icon-sign"
    >
      <path d={PATHS[props.name]} />
    </svg>
  );
}
