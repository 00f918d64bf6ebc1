import type { JSX } from "solid-js";
import { Icon } from "../../parts/icon";
import { Tag } from "../../parts/meaning";
import { SEVERITIES } from "./words";

/** How bad it is: a sign and a word beside the colour. */
export function Severity(props: { of: string | null }): JSX.Element {
  const known = (): (typeof SEVERITIES)[string] => SEVERITIES[props.of ?? ""] ?? SEVERITIES["info"]!;
  return (
    <Tag meaning={known().meaning}>
      <Icon name={known().icon} size={12} /> {props.of ?? "unknown"}
    </Tag>
  );
}
