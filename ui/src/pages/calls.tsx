import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function Calls(): JSX.Element {
  return <Head title="Calls" />;
}
