import { digest } from '../../base/secrets.ts'
import type { TokenReader } from '../../token/reader.ts'

/** Tokens that are remembered; beyond that number the oldest is dropped. */
const MAX_TOKENS = 20_000

/** Recently verified tokens. */
export interface VerifiedTokens {
  has(token: string): boolean
  add(token: string): void
}

/** Stores the digests of the tokens. */
export function createVerifiedTokens(): VerifiedTokens {
  const digests = new Set<string>()
  return {
    has: token => digests.has(digest(token)),
    add(token) {
      digests.add(digest(token))
      if (digests.size <= MAX_TOKENS) return
      const oldest = digests.values().next()
      if (!oldest.done) digests.delete(oldest.value)
    },
  }
}

/** Wraps a reader so that it records each token that it verified. */
export const remembering = (reader: TokenReader, verified: Pick<VerifiedTokens, 'add'>): TokenReader => ({
  ...reader,
  async read(request, token, expected) {
    const read = await reader.read(request, token, expected)
    verified.add(token)
    return read
  },
})
