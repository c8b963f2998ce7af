/** A part of a name, which may begin a line. Names are made by machines and people: one without separators is cut. */
const PART = /[^\s/_.:|,=-]{1,24}[\s/_.:|,=-]*|[\s/_.:|,=-]+/gu

/** nameParts returns the parts of a name between which lines may break: after separators, not inside words. */
export const nameParts = (name: string): readonly string[] => name.match(PART) ?? []
