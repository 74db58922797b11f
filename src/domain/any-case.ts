/** The one of a closed set of names that the text means, in upper or lower case; undefined when it means none. */
export function inAnyCase<Name extends string>(names: readonly Name[], text: string): Name | undefined {
  const wanted = text.toLowerCase();
  return names.find((name) => name.toLowerCase() === wanted);
}
