/** The little Markdown that generated pages are made of. */

export function page(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
