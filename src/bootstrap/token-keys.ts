import type { Config } from '../config.ts'
import type { KeyInToken } from '../model/tokens/key-in-token.ts'
import type { TokenKeys } from '../token/keys/signer.ts'

/** The keys of the configuration that are in tokens; undefined, and nothing loaded, where there are none. Opens no token yet. */
export async function openTokenKeys(
  { signingKeys, programEnv }: Pick<Config, 'signingKeys' | 'programEnv'>,
  log: { info(message: string): void; warn(message: string): void },
): Promise<TokenKeys | undefined> {
  const inTokens = Object.entries(signingKeys?.keys ?? {}).flatMap(([keyId, key]): [string, KeyInToken][] =>
    'pkcs11' in key ? [[keyId, key]] : [],
  )
  if (inTokens.length === 0) return undefined
  const { createTokenKeys } = await import('../token/pkcs11/token-keys.ts')
  return createTokenKeys(Object.fromEntries(inTokens), { log, env: programEnv })
}
