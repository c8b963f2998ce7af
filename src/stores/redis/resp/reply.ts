/** What a server answers, in RESP 2: texts of fixed length are bytes, short ones and errors are text. */
export type Reply = string | number | Buffer | null | ReplyError | readonly Reply[]

/** An error that the server answered. Its message begins with a code: NOSCRIPT, MOVED, READONLY. */
export class ReplyError extends Error {}

/** A ProtocolError says that what came is no reply. */
export class ProtocolError extends Error {}
