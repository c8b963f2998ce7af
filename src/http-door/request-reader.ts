import type { Route } from './request-path.ts'

/** Reads a framework's requests. Each adapter has one. */
export interface RequestReader<R> {
  /** The address of the client, as the framework sees it: with its own idea of proxies, if it has one. */
  address(request: R): string | undefined
  /** The address of the socket's peer. */
  peer(request: R): string | undefined
  /** A field, by lower-case name; several lines joined by `, `. */
  header(request: R, name: string): string | undefined
  method(request: R): string
  /** Path and query, as the client wrote them. */
  url(request: R): string
  /** Where the framework leads the request to. */
  route(request: R): Route
}

/** Joins the values of a field that Node.js gives as a list. */
export function headerText(value: string | readonly string[] | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : value.join(', ')
}
