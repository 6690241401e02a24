import { LatestMap } from '../../base/latest-map.ts'
import { digest } from '../../base/secrets.ts'
import type { TokenReader } from '../../token/reader.ts'

/** Tokens that are remembered; beyond that number the oldest is dropped. */
const MAX_TOKENS = 20_000

/** Recently verified tokens, each with the zone that issued it. */
export interface VerifiedTokens {
  /** The id of its zone; undefined for a token that was not verified recently. */
  zoneOf(token: string): string | undefined
  add(token: string, zoneId: string): void
}

/** Stores the digests of the tokens. */
export function createVerifiedTokens(): VerifiedTokens {
  const zones = new LatestMap<string>(MAX_TOKENS)
  return {
    zoneOf: token => zones.get(digest(token)),
    add: (token, zoneId) => void zones.set(digest(token), zoneId),
  }
}

/** Wraps a reader so that it records each token that it verified. */
export const remembering = (reader: TokenReader, verified: Pick<VerifiedTokens, 'add'>): TokenReader => ({
  ...reader,
  async read(request, token, expected) {
    const read = await reader.read(request, token, expected)
    verified.add(token, request.zone.id)
    return read
  },
})
