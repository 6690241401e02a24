// The Dockerfile against the source: what it names exists, and the image keeps what docs/deploy.md promises.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { loadConfig } from '../../src/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** An instruction and what follows it, in one line. */
type Instruction = readonly [name: string, rest: string]

/** The instructions of each stage, in their order. */
function stagesOf(dockerfile: string): readonly (readonly Instruction[])[] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line !== '')
  const instructions = lines.map((line): Instruction => {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    return [name, rest]
  })
  const starts = instructions.flatMap(([name], index) => (name === 'FROM' ? [index] : []))
  return starts.map((start, index) => instructions.slice(start, starts[index + 1]))
}

const valuesOf = (stage: readonly Instruction[], wanted: string): readonly string[] =>
  stage.filter(([name]) => name === wanted).map(([, rest]) => rest)

/** The only value of the instruction. */
function valueOf(stage: readonly Instruction[], wanted: string): string {
  const values = valuesOf(stage, wanted)
  assert.equal(values.length, 1, `${wanted} is there once`)
  return values[0] ?? ''
}

describe('The container image', () => {
  const [build = [], image = []] = stagesOf(read('Dockerfile'))

  it('starts from scratch, without a shell or other programs', () => {
    assert.equal(valueOf(image, 'FROM'), 'scratch')
    assert.deepEqual(
      valuesOf(image, 'COPY').filter(rest => !rest.startsWith('--from=build ')),
      [],
    )
    assert.deepEqual(valuesOf(image, 'RUN'), [])
  })

  it('runs as an unprivileged account that owns the data', () => {
    const account = valueOf(image, 'USER')
    assert.equal(account, '10001:10001')
    assert.equal(valueOf(build, 'USER'), account)
    assert.match(
      read('Dockerfile'),
      /latchkey:x:10001:10001:.*install -d -o 10001 -g 10001 \/image\/var\/lib\/latchkey /s,
    )
  })

  it('starts the server and its health check without a shell, with the launcher’s flags', () => {
    const [, list = ''] = /FLAGS = \[(.+)\]/.exec(read('bin/latchkey.cjs')) ?? []
    const program = ['/usr/local/bin/node', ...list.replaceAll("'", '').split(', '), '/app/bin/latchkey.cjs']
    assert.deepEqual(JSON.parse(valueOf(image, 'ENTRYPOINT')), program)
    assert.deepEqual(JSON.parse(valueOf(image, 'CMD')), ['serve'])
    const [, check = ''] = valueOf(image, 'HEALTHCHECK').split('CMD ')
    assert.deepEqual(JSON.parse(check), [...program, 'health'])
  })

  it('sets only the configuration path and the host, as variables that the server reads', () => {
    const names = [...valueOf(image, 'ENV').matchAll(/(LATCHKEY_\w+)=/g)].map(([, name = '']) => name)
    assert.deepEqual(names.toSorted(), ['LATCHKEY_CONFIG', 'LATCHKEY_HOST'])
    const known = read('src/config/warnings/environment-names.ts')
    for (const name of names) assert.ok(known.includes(`'${name.replace('LATCHKEY_', '')}'`), name)
  })

  it('has the default database in its volume, and exposes the default port', async () => {
    const { database, listen } = await loadConfig({ env: {} })
    const [, path = ''] = /^sqlite:\.\/(.*)\/[^/]*$/.exec(database) ?? []
    assert.equal(valueOf(image, 'VOLUME'), `${valueOf(image, 'WORKDIR')}/${path}`)
    assert.equal(valueOf(image, 'EXPOSE'), String(listen.port))
  })

  it('copies existing files, exactly those that .dockerignore allows', () => {
    const copied = valuesOf(build, 'COPY').flatMap(rest => rest.split(' ').slice(0, -1))
    const ignored = read('.dockerignore').split('\n').filter(Boolean)
    for (const path of copied) assert.ok(existsSync(join(ROOT, path)), path)
    assert.deepEqual(
      ignored.filter(line => line.startsWith('!')),
      copied.map(path => `!${path}`),
    )
    assert.equal(
      ignored.find(line => !line.startsWith('#')),
      '*',
    )
  })
})
