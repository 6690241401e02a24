// Every configuration that a document prints can be pasted into a file as it stands.
import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ConfigError, loadConfig } from '../src/config.ts'
import type { Schema } from '../src/config/check-schema.ts'
import { CONFIG_SCHEMA } from '../src/config/schema.ts'
import { temporaryFolder } from './support/config.ts'

const ROOT = join(import.meta.dirname, '..')

/**
 * What is no mistake of a document: the files beside the configuration are those of the reader, and a block may show several
 * ways to the same end.
 */
const ALLOWED =
  /cannot be read: (?:no such file|ENOENT)|^must be an RSA or EC key|^cannot be given together with|^\/\S+ does not exist$/

/** Keys of the file, and those that stand one level below and are printed at the top by mistake. */
const { properties, definitions } = CONFIG_SCHEMA as Schema
const OWN = new Set(
  [properties, properties?.['bootstrap']?.properties, definitions?.['zoneConfig']?.properties].flatMap(keys =>
    Object.keys(keys ?? {}),
  ),
)

/** Files of other programs are YAML, too: most of their keys are none of ours, but for rules of Prometheus. */
function isConfiguration(text: string): boolean {
  const keys = Array.from(text.matchAll(/^(\w+):/gm), ([, key]) => key)
  const own = keys.filter(key => key !== undefined && OWN.has(key))
  return own.length * 2 >= keys.length && !/^ *expr:/m.test(text)
}

async function problemsOf(text: string): Promise<readonly string[]> {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'latchkey.yml'), text)
  const env = Object.fromEntries(Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name]) => [name, 'a-long-random-value']))
  try {
    await loadConfig({ options: { config: 'latchkey.yml' }, env, cwd })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems
      .filter(({ message }) => !ALLOWED.test(message))
      .map(({ key, message }) => `${key}: ${message}`)
  }
}

describe('Configurations in the documentation', () => {
  for (const page of ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].toSorted()) {
    const blocks = Array.from(readFileSync(join(ROOT, page), 'utf8').matchAll(/^```yaml\n([^]*?)^```$/gm))
      .map(([, text = '']) => text)
      .filter(isConfiguration)
    if (blocks.length === 0) continue
    it(`are valid: ${page}`, async () => {
      for (const text of blocks) assert.deepEqual(await problemsOf(text), [], text)
    })
  }
})
