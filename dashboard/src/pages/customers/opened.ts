import type { ApiKey, Block, Grant, LimitState, Override } from '../../api/operations.ts'

/** An Opened is the change that somebody is about to make. */
export type Opened =
  | { readonly kind: 'raise'; readonly limit?: LimitState }
  | { readonly kind: 'grant'; readonly descriptor?: string }
  | { readonly kind: 'block' }
  | { readonly kind: 'unblock'; readonly block: Block }
  | { readonly kind: 'reset' }
  | { readonly kind: 'reset-limit'; readonly limit: LimitState }
  | { readonly kind: 'reset-key'; readonly keyId: string; readonly title: string }
  | { readonly kind: 'tier' }
  | { readonly kind: 'status' }
  | { readonly kind: 'edit' }
  | { readonly kind: 'remove' }
  | { readonly kind: 'add-key' }
  | { readonly kind: 'revoke-key'; readonly key: ApiKey }
  | { readonly kind: 'remove-override'; readonly override: Override }
  | { readonly kind: 'remove-grant'; readonly grant: Grant }

export type Open = (what: Opened) => void
