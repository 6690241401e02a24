// An independent identity provider: simpleSAMLphp, as Debian packages it, under PHP's own web server on a free port
// of loopback, with its configuration, keys and sessions in a temporary folder. A small shell keeps it: when the test process
// ends, however it ends, the shell's input closes, and it stops the server by its process id and removes the folder.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SAML } from './saml-xml.ts'
import { samlTestKey } from './saml-signing.ts'

/** Where `scripts/system-packages` unpacks it. */
const PROGRAM = join(import.meta.dirname, '../../../.cache/simplesamlphp/usr/share/simplesamlphp')

/** Why the tests with it cannot run on this machine, or false. */
export const lacksSimplesamlphp: string | false = !existsSync(join(PROGRAM, 'www'))
  ? 'simpleSAMLphp is not there: scripts/system-packages fetches it where Debian or Ubuntu has it'
  : spawnSync('php', ['-r', 'exit(class_exists("DOMDocument") ? 0 : 1);']).status !== 0 &&
    'PHP with XML is not installed'

/** Users there, with their passwords. */
export const PEOPLE = {
  ann: {
    password: 'ann-of-simplesamlphp',
    attributes: {
      uid: ['ann'],
      mail: ['ann@example.org'],
      givenName: ['Ann'],
      sn: ['Lee'],
      groups: ['staff', 'readers'],
    },
  },
  bob: { password: 'bob-of-simplesamlphp', attributes: { uid: ['bob'], mail: ['bob@example.org'], groups: ['staff'] } },
} as const

/** Options that differ between tests. */
export interface SimplesamlphpOptions {
  /** Encrypts assertions, with AES in this mode. */
  readonly encrypts?: 'cbc' | 'gcm'
  /** Encrypts the name in assertions and logout requests. */
  readonly encryptsNames?: boolean
  /** What it signs: the response, its assertion, or both. */
  readonly signs?: readonly ('response' | 'assertion')[]
  /** The binding by which it takes requests and logout messages. */
  readonly binding?: 'redirect' | 'post'
}

/** A running provider. */
export interface Simplesamlphp {
  readonly url: string
  readonly metadataUrl: string
  readonly metadata: string
  /** The URL that starts an IdP-initiated sign-in. */
  readonly startUrl: (serviceProvider: string) => string
  /** The URL that starts an IdP-initiated logout. */
  readonly logoutUrl: string
  /** Registers a service provider by its metadata. */
  register(metadata: string): void
  /** Changes the options; pending messages are lost. */
  configure(options: SimplesamlphpOptions): void
  /** What it wrote to its log. */
  log(): string
  stop(): Promise<void>
}

/** PHP that reads a file of JSON into a variable, so that nothing here is quoted for PHP. */
const jsonIn = (variable: string, file: string): string =>
  `<?php $${variable} = json_decode(file_get_contents(__DIR__ . '/${file}'), true);\n`

/** Starts one; the test stops it. */
export async function startSimplesamlphp(first: SimplesamlphpOptions = {}): Promise<Simplesamlphp> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-simplesamlphp-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}` // another site than `localhost`, so that cookies behave as between two companies
  const write = (name: string, value: object | string): void =>
    writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value))
  const { privateKey, certificate } = samlTestKey()
  for (const name of ['log', 'data', 'temp', 'sessions']) mkdirSync(join(folder, name))
  write('idp.pem', privateKey)
  write('idp.crt', certificate)
  write('config.php', jsonIn('config', 'config.json'))
  const settings = {
    baseurlpath: `${url}/`,
    certdir: folder,
    loggingdir: join(folder, 'log'),
    datadir: join(folder, 'data'),
    tempdir: join(folder, 'temp'),
    metadatadir: folder,
    attributenamemapdir: join(PROGRAM, '../../../etc/simplesamlphp/attributemap'),
    'session.phpsession.savepath': join(folder, 'sessions'),
    'session.cookie.secure': false,
    secretsalt: 'a salt of the tests',
    'auth.adminpassword': 'nobody is an administrator in the tests',
    timezone: 'UTC',
    'store.type': 'phpsession',
    'logging.handler': 'file',
    'logging.logfile': 'simplesamlphp.log',
    'logging.level': 7,
    'admin.checkforupdates': false,
    'enable.saml20-idp': true,
    'module.enable': { core: true, saml: true, exampleauth: true },
  }
  const flat = { type: 'flatfile' }
  let serviceProvider = ''
  let wantsSigned = true
  function know(): void {
    // The requirements of the service provider take precedence.
    const xml = wantsSigned ? serviceProvider : serviceProvider.replace(/ WantAssertionsSigned="true"/, '')
    write('config.json', { ...settings, 'metadata.sources': xml === '' ? [flat] : [flat, { type: 'xml', xml }] })
  }
  know()
  write('authsources.php', jsonIn('config', 'authsources.json'))
  write('authsources.json', {
    people: {
      0: 'exampleauth:UserPass',
      ...Object.fromEntries(
        Object.entries(PEOPLE).map(([name, { password, attributes }]) => [`${name}:${password}`, attributes]),
      ),
    },
  })
  write('saml20-idp-hosted.php', jsonIn('metadata', 'idp.json'))
  const configure = ({
    encrypts,
    encryptsNames = false,
    signs = ['response', 'assertion'],
    binding = 'redirect',
  }: SimplesamlphpOptions): void => {
    wantsSigned = signs.includes('assertion')
    know()
    write('idp.json', {
      [`${url}/idp`]: {
        host: '__DEFAULT__',
        privatekey: 'idp.pem',
        certificate: 'idp.crt',
        auth: 'people',
        'assertion.encryption': encrypts !== undefined,
        'nameid.encryption': encryptsNames,
        ...(encrypts && { sharedkey_algorithm: SAML[encrypts] }),
        'saml20.sign.response': signs.includes('response'),
        'saml20.sign.assertion': signs.includes('assertion'),
        'validate.authnrequest': true,
        'validate.logout': true,
        'sign.logout': true,
        SingleSignOnServiceBinding: [SAML[binding]],
        SingleLogoutServiceBinding: [SAML[binding]],
        NameIDFormat: SAML.persistentName,
        authproc: { 3: { class: 'saml:AttributeNameID', attribute: 'uid', Format: SAML.persistentName } },
      },
    })
  }
  configure(first)

  const script = `php "$@" >"$FOLDER"/log/php.log 2>&1 </dev/null &
    server=$!; read -r _; kill -TERM $server; wait $server; cd /; rm -rf "$FOLDER"`
  const ini = { display_errors: '0', 'session.save_path': join(folder, 'sessions'), 'opcache.enable_cli': '1' }
  const options = Object.entries(ini).flatMap(([name, value]) => ['-d', `${name}=${value}`])
  const keeper = spawn('sh', ['-c', script, 'sh', ...options, '-S', `127.0.0.1:${port}`, '-t', join(PROGRAM, 'www')], {
    cwd: folder,
    env: { PATH: process.env['PATH'], FOLDER: folder, SIMPLESAMLPHP_CONFIG_DIR: folder },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // so that an interrupt from the keyboard leaves it the time to clean up
  })
  const ended = new Promise<void>(resolve => keeper.once('close', () => resolve()))
  const stop = async (): Promise<void> => {
    keeper.stdin.end()
    await ended
  }
  const log = (): string =>
    ['simplesamlphp.log', 'php.log']
      .map(name => join(folder, 'log', name))
      .map(path => (existsSync(path) ? readFileSync(path, 'utf8') : ''))
      .join('\n')
  const metadataUrl = `${url}/saml2/idp/metadata.php`
  let metadata = await metadataAt(metadataUrl)
  for (let attempt = 0; metadata === undefined; attempt += 1) {
    if (attempt > 200) {
      const written = log()
      await stop()
      throw new Error(`simpleSAMLphp does not answer:\n${written}`)
    }
    await pause(50)
    metadata = await metadataAt(metadataUrl)
  }
  return {
    url,
    metadataUrl,
    metadata,
    startUrl: spentityid => `${url}/saml2/idp/SSOService.php?${new URLSearchParams({ spentityid }).toString()}`,
    logoutUrl: `${url}/saml2/idp/initSLO.php?RelayState=${encodeURIComponent(`${url}/logout.php`)}`,
    register(metadata) {
      serviceProvider = metadata
      know()
    },
    configure,
    log,
    stop,
  }
}

/** Undefined while it does not respond; its errors have the status 200. */
async function metadataAt(address: string): Promise<string | undefined> {
  try {
    const text = await (await fetch(address)).text()
    return text.includes('EntityDescriptor') ? text : undefined
  } catch {
    return undefined
  }
}
