/** Where a member comes from: classes and interfaces that nobody can import. */
const ORIGIN = /^#+ (?:Inherited from|Overrides|Implementation of|Extends|Implements)\n\n(?:.+\n)+\n/gm
/** All codes of errors, one by one, in place of the type that has a name. */
const ERROR_CODES = /(?:\\\| )?`"[A-Z][A-Z_]+"`(?: \\\| `"[A-Z][A-Z_]+"`){9,}/g
/** The form of a rule file, spelled out in place of the type that has a name. */
const RULE_FILE = /\\\| (`string` \\\| )?`Flat`\\<\\\{ `domain`:.*\\\}\\>\[\](?= \|)/g

/**
 * tidyPage shortens a page of the reference: types that compute other types are spelled out by typedoc, over thousands of
 * characters. `types` is the page that has those with a name.
 */
export function tidyPage(text, types = '') {
  return text
    .replaceAll(ORIGIN, '')
    .replaceAll(ERROR_CODES, `[\`ErrorCode\`](${types}#errorcode)`)
    .replaceAll(
      RULE_FILE,
      (_, text = '') => `${text}[\`RuleFile\`](${types}#rulefile) \\| [\`RuleFile\`](${types}#rulefile)[]`,
    )
}
