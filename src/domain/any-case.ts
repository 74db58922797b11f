/** The name that equals the text in upper or lower case; undefined when there is none. */
export function inAnyCase<Name extends string>(names: readonly Name[], text: string): Name | undefined {
  const wanted = text.toLowerCase();
  return names.find((name) => name.toLowerCase() === wanted);
}
