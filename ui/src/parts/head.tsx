import { createEffect, type JSX } from "solid-js";
import { alerts } from "../live";
import "./head.css";

/** The head of a page: its name (also the window's), what it is about, and its controls. */
export function Head(props: { title: string; about?: JSX.Element; children?: JSX.Element }): JSX.Element {
  createEffect(() => {
    const open = alerts()?.open ?? 0;
    document.title = `${open > 0 ? `(${open}) ` : ""}${props.title} · Trunkline`;
  });
  return (
    <header class="head">
      <div class="head-title">
        <h1>{props.title}</h1>
        {props.about}
      </div>
      <div class="head-tools">{props.children}</div>
    </header>
  );
}
