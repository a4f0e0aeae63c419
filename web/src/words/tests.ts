// What types of tests are called in plain words: `columnValuesToBeNotNull`, "Column values to be not null" → "Values are not null".

/** Return what a type of test says, by its display name or else by its name. */
export function testTypeOf(name: string, displayName?: string): string {
  const title = displayName || name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  const bare = title.replace(/^(column (?!names)|table )/i, '');
  const isMany = /^(values|value lengths|column names|names)\b/i.test(bare);
  const verbOf = (verb: string) => (isMany ? verb : `${verb}${verb === 'match' ? 'es' : 's'}`);
  const said = bare
    .replace(/ to be /, isMany ? ' are ' : ' is ')
    .replace(/ to not /, isMany ? ' do not ' : ' does not ')
    .replace(/ to (equal|match|exist)\b/, (_, verb: string) => ` ${verbOf(verb)}`);
  return said.charAt(0).toUpperCase() + said.slice(1);
}
