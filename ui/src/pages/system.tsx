import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function System(): JSX.Element {
  return <Head title="System" />;
}
