// Prints the software bill of materials of what is installed, as CycloneDX: `npm run -s sbom > latchkey.cdx.json`. npm lists
// the packages. This adds what npm does not know of: the Node.js inside of its platform package, with what is
// compiled into it, and the two works of others that are files of this repository.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { EXPLORER_FILE, EXPLORER_VERSION } from '../src/admin/openapi/explorer.ts'

interface Component {
  readonly 'bom-ref': string
  readonly type: 'library' | 'platform' | 'data'
  readonly name: string
  readonly version: string
  readonly properties?: readonly { readonly name: string }[]
  readonly externalReferences?: readonly { readonly url: string }[] | undefined
  readonly [member: string]: unknown
}

/** What this file reads of CycloneDX 1.5. */
export interface Bom {
  readonly metadata: { readonly component: Component; readonly [member: string]: unknown }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

const ROOT = join(import.meta.dirname, '..')
/** Versions of interfaces and of data that are no works of others. */
const NOT_COMPILED_IN = new Set(['node', 'modules', 'napi', 'unicode', 'cldr', 'tz'])

const sha256 = (path: string): object => ({
  alg: 'SHA-256',
  content: createHash('sha256').update(readFileSync(path)).digest('hex'),
})
const licensed = (id: string): readonly object[] => [{ license: { id } }]

/** The pinned Node.js and what it is made of. */
function runtime(): Component {
  const { pinnedNode } = createRequire(import.meta.url)('../bin/find-node.cjs') as {
    readonly pinnedNode: (root: string) => string | undefined
  }
  const program = pinnedNode(ROOT)
  if (program === undefined) throw new Error('the pinned Node.js is not installed: npm ci')
  const print = 'process.stdout.write(JSON.stringify(process.versions))'
  const versions: Record<string, string> = JSON.parse(execFileSync(program, ['-e', print], { encoding: 'utf8' }))
  const { node: version = '' } = versions
  const ref = `pkg:generic/node@${version}`
  return {
    'bom-ref': ref,
    type: 'platform',
    name: 'node',
    version,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl: ref,
    hashes: [sha256(program)],
    licenses: licensed('MIT'),
    components: Object.entries(versions)
      .filter(([name, value]) => value !== '' && !NOT_COMPILED_IN.has(name))
      .map(([name, value]) => ({ 'bom-ref': `${ref}#${name}`, type: 'library', name, version: value })),
  }
}

function explorer(): Component {
  const ref = `pkg:npm/rapidoc@${EXPLORER_VERSION}`
  const hashes = [sha256(EXPLORER_FILE)]
  return {
    'bom-ref': ref,
    type: 'library',
    name: 'rapidoc',
    version: EXPLORER_VERSION,
    purl: ref,
    hashes,
    licenses: licensed('MIT'),
  }
}

/** The list that `common-passwords.bin` is made from; it is installed for development only. */
function commonPasswords(): Component {
  const { name, version } = JSON.parse(
    readFileSync(join(ROOT, 'node_modules/@zxcvbn-ts/language-common/package.json'), 'utf8'),
  )
  const ref = `pkg:npm/%40zxcvbn-ts/language-common@${version}`
  const hashes = [sha256(join(ROOT, 'src/users/common-passwords.bin'))]
  return { 'bom-ref': ref, type: 'data', name, version, purl: ref, hashes, licenses: licensed('MIT') }
}

/** What npm lists. Not by its `--omit dev`, which also omits what a package for development depends on as well (jose, for one). */
function packages(): Bom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const output = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const bom: Bom = JSON.parse(output)
  const components = bom.components.filter(isOfServer).map(component => ({
    ...component,
    // A repository may be named as for git, which is no URL.
    externalReferences: component.externalReferences?.filter(({ url }) => URL.canParse(url)),
  }))
  const refs = new Set([bom.metadata.component['bom-ref'], ...components.map(component => component['bom-ref'])])
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(other => refs.has(other)) }))
  return { ...bom, components, dependencies }
}

/** TypeScript is there for development, and because another package may use it; nothing loads it. */
const isOfServer = ({ name, properties = [] }: Component): boolean =>
  !properties.some(property => property.name === 'cdx:npm:package:development') &&
  !/^(?:@typescript\/|typescript$)/.test(name)

/** The document; npm has to be installed. */
export function billOfMaterials(): Bom {
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const bom = packages()
  const added = [runtime(), explorer(), commonPasswords()]
  const addedRefs = added.map(component => component['bom-ref'])
  const root = bom.metadata.component['bom-ref']
  return {
    ...bom,
    // npm takes the name of the folder.
    metadata: { ...bom.metadata, component: { ...bom.metadata.component, name, version } },
    components: [...bom.components, ...added],
    dependencies: [
      ...bom.dependencies.map(({ ref, dependsOn }) => ({
        ref,
        dependsOn: ref === root ? [...dependsOn, ...addedRefs] : dependsOn,
      })),
      ...addedRefs.map(ref => ({ ref, dependsOn: [] })),
    ],
  }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(billOfMaterials(), null, 2)}\n`)
