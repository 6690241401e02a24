import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { CommandOptions, Config } from '../../src/config.ts'
import { ConfigError, loadConfig } from '../../src/config.ts'
import { rsaKeyPair } from './rsa-keys.ts'

/** The environment of a test. */
export type Env = Readonly<Record<string, string>>

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Loads a configuration whose file, in the folder, holds `text`. */
export async function loadText(
  folder: string,
  text: string,
  { env = {}, options = {} }: { env?: Env; options?: CommandOptions } = {},
): Promise<Config> {
  writeFileSync(join(folder, 'latchkey.yml'), text)
  return loadConfig({ options: { config: 'latchkey.yml', ...options }, env, cwd: folder })
}

/** The problems of a configuration, each as `key: message`; none when it is accepted. */
export async function problemsOf(loading: Promise<Config>): Promise<readonly string[]> {
  try {
    await loading
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ key, message }) => `${key}: ${message}`)
    throw error
  }
  return []
}

/** A private key in PKCS#8 PEM; the detail is the length of an RSA key or the curve. */
export function privatePem(type: 'rsa' | 'ec' | 'ed25519', detail: number | string = ''): string {
  if (type === 'rsa' && detail === 2048) return rsaKeyPair().privateKey
  const { privateKey } = pairOf(type, detail)
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function pairOf(type: 'rsa' | 'ec' | 'ed25519', detail: number | string) {
  if (type === 'rsa') return generateKeyPairSync('rsa', { modulusLength: Number(detail) })
  if (type === 'ec') return generateKeyPairSync('ec', { namedCurve: String(detail) })
  return generateKeyPairSync('ed25519')
}
