import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function Now(): JSX.Element {
  return <Head title="Now" />;
}
