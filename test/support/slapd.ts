// An LDAP directory of the tests' own: OpenLDAP's slapd in a temporary folder, listening on loopback only, with a
// certificate for `localhost` that the tests make. A small shell keeps it: when the test process ends, however it ends, the
// shell's input closes, and it stops the directory by its process id and removes the folder.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { certificateOf } from './certificate.ts'
import { privatePem } from './config.ts'
import { freePort } from './free-port.ts'

/** A running directory. */
export interface Slapd {
  readonly port: number
  readonly tlsPort: number
  /** `ldap://localhost:…`, with StartTLS. */
  readonly url: string
  /** `ldaps://localhost:…`. */
  readonly tlsUrl: string
  /** Its certificate, which is not trusted by default. */
  readonly certificate: string
  stop(): Promise<void>
}

/** The base DN. */
export const SUFFIX = 'dc=example,dc=org'
/** The base DN of users. */
export const PEOPLE = `ou=people,${SUFFIX}`
/** The base DN of groups. */
export const GROUPS = `ou=groups,${SUFFIX}`
/** The account with read access to everything. */
export const ACCOUNT = { dn: `cn=admin,${SUFFIX}`, password: 'hush-hush bind password' }
/** The password of all users without another one. */
export const PASSWORD = 'hush-hush koala'

/** Names with characters that are special in a DN, in a filter, or in neither. */
export const ODD_NAMES: readonly string[] = [
  'Bloggs, Joe',
  'a+b',
  'star*',
  '(in parentheses)',
  'back\\slash',
  'Jürgen Ärmel',
  '#hash',
  'say "hello"',
  'less<more>',
  'semi;colon',
  'x=y',
  '{0}',
  '$& $1',
  '\u{1F511} key',
]

/** Hashes of the password, by scheme. */
export function storedPasswords(password: string): Readonly<Record<string, string>> {
  const salt = Buffer.from('saltsalt')
  const digest = (algorithm: string, ...salts: readonly Buffer[]): string => {
    const made = createHash(algorithm)
      .update(Buffer.concat([Buffer.from(password), ...salts]))
      .digest()
    return Buffer.concat([made, ...salts]).toString('base64')
  }
  return {
    plain: password,
    clear: `{CLEARTEXT}${password}`,
    md5: `{MD5}${digest('md5')}`,
    smd5: `{SMD5}${digest('md5', salt)}`,
    sha: `{SHA}${digest('sha1')}`,
    ssha: `{SSHA}${digest('sha1', salt)}`,
    'ssha-lower': `{ssha}${digest('sha1', salt)}`,
    sha256: `{SHA256}${digest('sha256')}`,
    ssha256: `{SSHA256}${digest('sha256', salt)}`,
    sha384: `{SHA384}${digest('sha384')}`,
    ssha384: `{SSHA384}${digest('sha384', salt)}`,
    sha512: `{SHA512}${digest('sha512')}`,
    ssha512: `{SSHA512}${digest('sha512', salt)}`,
  }
}

/** An independent way of writing a value into a DN: everything but letters and digits in pairs of digits. */
export const dnOf = (name: string): string =>
  `cn=${[...Buffer.from(name)].map(byte => `\\${byte.toString(16).padStart(2, '0')}`).join('')},${PEOPLE}`

const entry = (dn: string, values: readonly (readonly [attribute: string, value: string])[]): string =>
  [['dn', dn] as const, ...values]
    .map(([name, value]) => `${name}:: ${Buffer.from(value).toString('base64')}\n`)
    .join('')

const person = (name: string, values: Readonly<Record<string, string>> = {}): string =>
  entry(dnOf(name), [
    ['objectClass', 'inetOrgPerson'],
    ['cn', name],
    ['sn', `${name} family`],
    ...Object.entries({ userPassword: storedPasswords(PASSWORD)['ssha'] ?? '', ...values }).filter(
      ([, value]) => value !== '',
    ),
  ])

const group = (name: string, description: string, ...members: readonly string[]): string =>
  entry(`cn=${name},${GROUPS}`, [
    ['objectClass', 'groupOfNames'],
    ['cn', name],
    ['description', description],
    ...members.map(member => ['member', member] as const),
  ])

const groupDn = (name: string): string => `cn=${name},${GROUPS}`

function content(): string {
  const unit = (name: string): string =>
    entry(`ou=${name},${SUFFIX}`, [
      ['objectClass', 'organizationalUnit'],
      ['ou', name],
    ])
  return [
    entry(SUFFIX, [
      ['objectClass', 'dcObject'],
      ['objectClass', 'organization'],
      ['o', 'Example'],
      ['dc', 'example'],
    ]),
    unit('people'),
    unit('groups'),
    person('marissa', {
      mail: 'marissa@example.org',
      givenName: 'Marissa',
      telephoneNumber: '+1 555 0100',
      memberOf: groupDn('readers'),
    }),
    person('loner', { mail: 'loner@example.org' }),
    person('twin-a', { mail: 'twin@example.org' }),
    person('twin-b', { mail: 'twin@example.org' }),
    person('without-password', { userPassword: '' }),
    ...ODD_NAMES.map(name => person(name)),
    ...Object.entries(storedPasswords(PASSWORD)).map(([name, userPassword]) =>
      person(`stored-${name}`, { userPassword }),
    ),
    person('stored-unknown', { userPassword: `{ROT13}${PASSWORD}` }),
    person('stored-unix', { userPassword: '{CRYPT}$1$salt$qJH7.N4xYta3aEG/dfqo/0' }),
    // Verifying it would take a day.
    person('stored-slow', { userPassword: `{CRYPT}$2b$31$${'a'.repeat(53)}` }),
    // marissa is in readers, readers in staff, staff in everybody, and everybody in readers.
    group('readers', 'cloud.read,cloud.list', dnOf('marissa'), groupDn('everybody')),
    group('staff', 'cloud.write', groupDn('readers')),
    group('everybody', 'openid', groupDn('staff')),
    group('elsewhere', 'cloud.admin', dnOf('loner')),
  ].join('\n')
}

function configuration(folder: string): string {
  const schemas = present('the schemas', ['/etc/ldap/schema', '/etc/openldap/schema', '/usr/local/etc/openldap/schema'])
  // Without the folder, the modules are built in.
  const modules = ['/usr/lib/ldap', '/usr/lib64/openldap', '/usr/lib/openldap'].find(path => existsSync(path))
  return [
    ...['core', 'cosine', 'inetorgperson'].map(name => `include ${schemas}/${name}.schema`),
    ...(modules === undefined ? [] : [`modulepath ${modules}`, 'moduleload back_mdb', 'moduleload memberof']),
    `TLSCertificateFile ${join(folder, 'certificate.pem')}`,
    `TLSCertificateKeyFile ${join(folder, 'key.pem')}`,
    'database mdb',
    `suffix "${SUFFIX}"`,
    `rootdn "${ACCOUNT.dn}"`,
    `rootpw "${ACCOUNT.password}"`,
    `directory ${join(folder, 'data')}`,
    'overlay memberof',
    'access to attrs=userPassword by anonymous auth by * none',
    'access to * by * read',
    '',
  ].join('\n')
}

function present(what: string, paths: readonly string[]): string {
  const found = paths.find(path => existsSync(path))
  if (found === undefined) throw new Error(`the tests need ${what} of OpenLDAP (package slapd)`)
  return found
}

/** The program; where AppArmor confines the installed one to its own folders, a copy, which it does not know. */
function programIn(folder: string): string {
  const paths = ['/usr/sbin', '/usr/local/sbin', '/usr/libexec', '/usr/local/libexec'].map(path => join(path, 'slapd'))
  const installed = present('the program slapd', paths)
  if (!existsSync('/etc/apparmor.d/usr.sbin.slapd')) return installed
  const copy = join(folder, 'slapd')
  copyFileSync(installed, copy)
  return copy
}

/** Starts one on free ports; the test stops it. */
export async function startSlapd(): Promise<Slapd> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-slapd-'))
  const file = join(folder, 'slapd.conf')
  const key = privatePem('ec', 'P-256')
  const certificate = certificateOf(key, { name: 'localhost' })
  let slapd: string
  try {
    slapd = programIn(folder)
    mkdirSync(join(folder, 'data'))
    writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
    writeFileSync(join(folder, 'certificate.pem'), certificate)
    writeFileSync(file, configuration(folder))
    writeFileSync(join(folder, 'content.ldif'), content())
    const load = ['-T', 'add', '-q', '-f', file, '-l', join(folder, 'content.ldif')]
    execFileSync(slapd, load, { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const [port, tlsPort] = [await freePort(), await freePort()]
  const script = `"$1" -f "$2" -h "$3" -d 0 >"$4"/log 2>&1 </dev/null &
    server=$!; read -r _; kill -TERM $server; wait $server; cd /; rm -rf "$4"`
  const listen = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${tlsPort}/`
  const keeper = spawn('sh', ['-c', script, 'sh', slapd, file, listen, folder], {
    cwd: folder,
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // so that an interrupt from the keyboard leaves it the time to clean up
  })
  const ended = new Promise<void>(resolve => keeper.once('close', () => resolve()))
  await Promise.all([untilOpen(port), untilOpen(tlsPort)])
  return {
    port,
    tlsPort,
    url: `ldap://localhost:${port}`,
    tlsUrl: `ldaps://localhost:${tlsPort}`,
    certificate,
    async stop() {
      keeper.stdin.end()
      await ended
    },
  }
}

async function untilOpen(port: number): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await new Promise<void>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1')
        socket.once('error', reject)
        socket.once('connect', () => socket.destroy())
        socket.once('close', failed => (failed ? undefined : resolve()))
      })
      return
    } catch (error) {
      if (attempt > 600) throw error
      await pause(50)
    }
  }
}
