/** The Claims of a token that was verified. */
export type Claims = Readonly<Record<string, unknown>>

/** Returns the claims of a token that is good, and undefined for any other; it never throws or rejects. */
export interface TokenVerifier {
  verify(token: string): Claims | undefined | Promise<Claims | undefined>
}
