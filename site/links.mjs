/** withoutCode replaces what is code by spaces: nothing in there is a link or a heading. */
function withoutCode(text) {
  const blank = (code) => code.replaceAll(/[^\n]/g, ' ')
  return text.replaceAll(/^( *)(```+|~~~+).*?^\1\2[^\S\n]*$/gms, blank).replaceAll(/(`+)(?!`).*?(?<!`)\1(?!`)/g, blank)
}

/** linksOf returns where the links and images of a document lead, and where in its text each target begins and ends. */
export function linksOf(text) {
  return [...withoutCode(text).matchAll(/(?<=\]\()[^()\s]+(?=(?: "[^"]*")?\))/g)].map(({ 0: target, index }) => ({
    target,
    start: index,
    end: index + target.length,
  }))
}

/** isElsewhere tells whether a link leaves the repository. */
export const isElsewhere = (target) => /^[a-z][a-z+.-]*:/i.test(target)

/** slugOf is the anchor of a heading, as GitHub makes it; the site makes the same. */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** anchorsOf returns the anchors of all headings of a document. */
export function anchorsOf(text) {
  const code = withoutCode(text).split('\n')
  const headings = text
    .split('\n')
    .filter((_, i) => /^#{1,6} /.test(code[i]))
    .map((line) => line.replace(/^#+ /, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
  const seen = new Map()
  return headings.map((heading) => {
    const slug = slugOf(heading)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}
