import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function Packets(): JSX.Element {
  return <Head title="Packets" />;
}
