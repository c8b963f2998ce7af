import type { Context } from 'hono'
import type { CloudflareConfigType } from './options.ts'

/** Answers a refused request: text as such, an object as JSON. */
export async function sendMessage(
  c: Context,
  { message, statusCode }: Pick<CloudflareConfigType, 'message' | 'statusCode'>,
  contentType?: string,
): Promise<Response> {
  c.status(statusCode)
  c.header('Cache-Control', 'no-store')
  const body = typeof message === 'function' ? await message(c) : message
  if (typeof body !== 'string') return c.json(body)
  if (contentType === undefined) return c.text(body)
  c.header('Content-Type', contentType)
  return c.body(body)
}
