// The configuration of test servers, read as from a file and remembered.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../src/config.ts'
import { loadConfig } from '../../src/config.ts'
import type { ServerOptions } from './server.ts'

/** Parsed configurations by their text, shared by tests with the same configuration. */
const configurations = new Map<string, Config>()
/** A setting with a file, whose content may change. */
const NAMES_FILE = /"\w*(?:file|tls)":/i
const IN_MEMORY = 'sqlite::memory:'

/** Reads the configuration from a file, in a folder that is removed again at once unless the configuration names files. */
export async function readConfig({
  config,
  mode = 'standard',
  playground = false,
  database = IN_MEMORY,
}: ServerOptions) {
  const settings = { base_url: 'http://localhost:8080', ...config, compatibility: mode }
  const text = JSON.stringify(settings)
  // Other settings depend only on the kind of database.
  const kind = database === IN_MEMORY ? database : new URL(database).protocol
  const recipe = JSON.stringify([text, playground, kind])
  const isKept = !NAMES_FILE.test(text)
  const known = isKept ? configurations.get(recipe) : undefined
  if (known) return { config: { ...known, database }, recipe }
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  const file = join(folder, 'latchkey.json')
  await writeFile(file, text)
  const read = await loadConfig({ options: { ...(!playground && { config: file }), database }, env: {}, cwd: folder })
  if (!isKept) return { config: read, recipe, folder }
  await rm(folder, { recursive: true })
  configurations.set(recipe, read)
  return { config: read, recipe }
}
