import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function Settings(): JSX.Element {
  return <Head title="Settings" />;
}
