// Which columns the table has, and in which order.

import { For, type JSX } from "solid-js";
import { Icon } from "../../parts/icon";
import { Popover } from "../../parts/popover";
import { COLUMNS, type Column } from "./columns";
import { isShown, move, resetLayout, show, shownColumns } from "./layout";

export function ColumnChoice(): JSX.Element {
  const hidden = (): Column[] => COLUMNS.filter((column) => !isShown(column.id));
  return (
    <Popover
      label="Columns"
      align="end"
      title="Choose columns"
      button={
        <>
          <Icon name="columns" size={16} />
          <span class="tool-name">Columns</span>
        </>
      }
    >
      {() => (
        <div class="columns-panel">
          <ul>
            <For each={shownColumns()}>
              {(column, i) => (
                <li class="saved-line">
                  <Check column={column} />
                  <button type="button" class="button icon quiet" aria-label={`Move ${column.title} left`} disabled={i() === 0} onClick={(event) => moved(event.currentTarget, column.id, -1)}>
                    <Icon name="left" size={14} />
                  </button>
                  <button type="button" class="button icon quiet" aria-label={`Move ${column.title} right`} disabled={i() === shownColumns().length - 1} onClick={(event) => moved(event.currentTarget, column.id, 1)}>
                    <Icon name="right" size={14} />
                  </button>
                </li>
              )}
            </For>
          </ul>
          <ul>
            <For each={hidden()}>
              {(column) => (
                <li>
                  <Check column={column} />
                </li>
              )}
            </For>
          </ul>
          <button type="button" class="button" onClick={resetLayout}>
            Reset
          </button>
        </div>
      )}
    </Popover>
  );
}

/** A line that changes its place loses the focus: the button gets it back, that one can press it again. */
function moved(button: HTMLElement, id: string, way: -1 | 1): void {
  move(id, way);
  button.focus();
}

function Check(props: { column: Column }): JSX.Element {
  return (
    <label class="choice" title={props.column.help}>
      <input type="checkbox" checked={isShown(props.column.id)} onChange={(event) => show(props.column.id, event.currentTarget.checked)} />
      <span class="clip">{props.column.title}</span>
    </label>
  );
}
