import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function Call(): JSX.Element {
  return <Head title="Call" />;
}
