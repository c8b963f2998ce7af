/**
 * HpackErrorCode: after COMPRESSION_ERROR both ends may disagree about the table, so the connection must end (RFC 7541,
 * 2.3.2); after TOO_LARGE the table is in step, and only the stream must be refused.
 */
export type HpackErrorCode = 'COMPRESSION_ERROR' | 'TOO_LARGE'

/** Says which rule a header block breaks. */
export class HpackError extends Error {
  override readonly name = 'HpackError'
  readonly code: HpackErrorCode

  constructor(code: HpackErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Makes the error of a block that cannot be read. */
export const corrupt = (rule: string): HpackError => new HpackError('COMPRESSION_ERROR', rule)
