import type { JSX } from "solid-js";
import { Head } from "../parts/head";

export default function Registrations(): JSX.Element {
  return <Head title="Registrations" />;
}
