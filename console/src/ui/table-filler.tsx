/** Takes the height of the rows of a long table that are not rendered, above or below the visible ones. */
export function TableFiller({ height, columns }: { height: number; columns?: number }) {
  return (
    <tbody aria-hidden="true" className="filler">
      <tr style={{ height }}>
        <td colSpan={columns} />
      </tr>
    </tbody>
  );
}
