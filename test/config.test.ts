import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { EDITOR_SCHEMA } from '../src/config/editor-schema.ts'
import type { CommandOptions, Config } from '../src/config.ts'
import { loadConfig } from '../src/config.ts'
import type { Env } from './support/config.ts'
import { loadText, privatePem, problemsOf, temporaryFolder } from './support/config.ts'

const folder = temporaryFolder()
const load = (text: string, from: { env?: Env; options?: CommandOptions } = {}): Promise<Config> =>
  loadText(folder, text, from)

describe('The configuration without a file', () => {
  it('is the playground on loopback, with defaults', async () => {
    const config = await loadConfig({ env: {}, cwd: folder })
    assert.equal(config.playground, true)
    assert.equal(config.baseUrl, 'http://localhost:8080')
    assert.deepEqual(config.listen, { host: '127.0.0.1', port: 8080, trustedProxies: [] })
    assert.equal(config.database, 'sqlite:./data/latchkey.db')
    assert.equal(config.workers, 1)
    assert.equal(config.service, 'svc')
    assert.equal(config.compatibility, 'standard')
    assert.equal(config.sessionSameSite, 'lax')
    assert.equal(config.saml.entityId, 'latchkey')
    assert.deepEqual(config.warnings, [])
    assert.deepEqual(
      config.bootstrap.clients.map(client => client.client_id),
      ['app', 'admin'],
    )
    assert.deepEqual(config.bootstrap.users[0]?.groups, ['cloud.read'])
  })

  it('names scopes after the service', async () => {
    const { bootstrap } = await loadConfig({ env: { LATCHKEY_SERVICE: 'uaa' }, cwd: folder })
    assert.ok(JSON.stringify(bootstrap.clients[1]).includes('"uaa.admin"'))
  })

  const refused = [
    { name: 'every address', host: '0.0.0.0' },
    { name: 'every IPv6 address', host: '::' },
    { name: 'another host name', host: 'id.example' },
    { name: 'a name that starts with localhost', host: '127.0.0.1.example' },
  ]
  for (const { name, host } of refused) {
    it(`rejects listening on ${name}`, async () => {
      const [problem = ''] = await problemsOf(loadConfig({ options: { host }, env: {}, cwd: folder }))
      assert.match(problem, /^--host: .*only loopback/)
    })
  }

  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '::1']) {
    it(`accepts listening on ${host}`, async () => {
      const config = await loadConfig({ options: { host }, env: {}, cwd: folder })
      assert.equal(config.listen.host, host)
    })
  }

  const strangeBases = [
    'https://id.example.org',
    'http://192.0.2.1:8080',
    'http://0.0.0.0:8080',
    'http://localhost.example.org',
    'http://127.0.0.1.example.org',
  ]
  for (const baseUrl of strangeBases) {
    it(`rejects the base URL ${baseUrl}`, async () => {
      const option = await problemsOf(loadConfig({ options: { baseUrl }, env: {}, cwd: folder }))
      const variable = await problemsOf(loadConfig({ env: { LATCHKEY_BASE_URL: baseUrl }, cwd: folder }))
      assert.equal(option.length, 1)
      assert.match(option[0] ?? '', /^--base-url: .*only loopback/)
      assert.equal(variable.length, 1)
      assert.match(variable[0] ?? '', /^LATCHKEY_BASE_URL: .*only loopback/)
    })
  }

  for (const baseUrl of [
    'http://localhost:9000/uaa',
    'http://127.0.0.1:8080',
    'https://[::1]',
    'http://id.localhost',
  ]) {
    it(`accepts the base URL ${baseUrl}`, async () => {
      const config = await loadConfig({ options: { baseUrl }, env: {}, cwd: folder })
      assert.equal(config.baseUrl, baseUrl)
    })
  }
})

describe('The precedence of sources', () => {
  const file =
    'listen: { host: 127.0.0.4, port: 4 }\nworkers: 4\ndatabase: sqlite:file.db\nbase_url: http://localhost:4\n'
  const env = {
    LATCHKEY_HOST: '127.0.0.3',
    LATCHKEY_PORT: '3',
    LATCHKEY_WORKERS: '3',
    LATCHKEY_DATABASE: 'sqlite:env.db',
    LATCHKEY_BASE_URL: 'http://localhost:3/env/',
  }
  const options = {
    host: '127.0.0.2',
    port: '2',
    workers: '2',
    database: 'sqlite:option.db',
    baseUrl: 'http://localhost:2',
  }
  const cases = [
    // Covers configuration file: rule: option before environment before file before default
    {
      name: 'options override everything',
      text: file,
      env,
      options,
      want: ['127.0.0.2', 2, 2, 'sqlite:option.db', 'http://localhost:2'],
    },
    // Covers environment: LATCHKEY_HOST
    {
      name: 'the environment overrides the file',
      text: file,
      env,
      options: {},
      want: ['127.0.0.3', 3, 3, 'sqlite:env.db', 'http://localhost:3/env'],
    },
    // Covers configuration file: base_url; listen.host
    {
      name: 'the file overrides the defaults',
      text: file,
      env: {},
      options: {},
      want: ['127.0.0.4', 4, 4, 'sqlite:file.db', 'http://localhost:4'],
    },
    {
      name: 'an empty variable is ignored',
      text: '',
      env: { LATCHKEY_PORT: '' },
      options: {},
      want: ['127.0.0.1', 8080, 1, 'sqlite:./data/latchkey.db', 'http://localhost:8080'],
    },
    // Covers configuration file: listen.port
    {
      name: 'the base URL has the port by default',
      text: 'listen: { port: 9000 }',
      env: {},
      options: {},
      want: ['127.0.0.1', 9000, 1, 'sqlite:./data/latchkey.db', 'http://localhost:9000'],
    },
  ]
  for (const { name, text, env, options, want } of cases) {
    it(name, async () => {
      const { listen, workers, database, baseUrl } = await load(text, { env, options })
      assert.deepEqual([listen.host, listen.port, workers, database, baseUrl], want)
    })
  }

  // Covers latchkey serve: --config
  // Covers configuration file: rule: YAML or JSON
  it('reads the file named by LATCHKEY_CONFIG', async () => {
    writeFileSync(join(folder, 'named.json'), '{"service":"named"}')
    const config = await loadConfig({ env: { LATCHKEY_CONFIG: join(folder, 'named.json') } })
    assert.equal(config.service, 'named')
    assert.equal(config.playground, false)
  })

  it('has no accounts with a file, even an empty one', async () => {
    const { bootstrap } = await load('')
    assert.deepEqual([bootstrap.clients, bootstrap.users, bootstrap.groups], [[], [], []])
  })
})

describe('Validation of single values', () => {
  const cases: readonly {
    name: string
    text?: string
    env?: Env
    options?: CommandOptions
    want: readonly string[]
  }[] = [
    { name: 'an unknown key', text: 'listne: { port: 1 }', want: ['listne: is not a known key; did you mean listen?'] },
    {
      name: 'an unknown nested key',
      text: 'listen: { prot: 1 }',
      want: ['listen.prot: is not a known key; did you mean port?'],
    },
    {
      name: 'misplaced keys',
      text: 'clients: []\nregistration: {}',
      want: [
        'clients: is not a known key here: it belongs below bootstrap',
        'registration: is not a known key here: it belongs below zone_config',
      ],
    },
    { name: 'a wrong type', text: 'listen: { port: "many" }', want: ['listen.port: must be a whole number'] },
    {
      name: 'a quoted number',
      text: 'workers: "2"',
      want: ['workers: must be a whole number, without quotes'],
    },
    {
      name: 'an unquoted numeric secret',
      text: 'smtp: { host: h, user: u, password: 1234 }',
      want: ['smtp.password: must be a string: put it in quotes'],
    },
    {
      name: 'unindented keys of a section',
      text: 'listen:\nhost: 127.0.0.1\nsame_site: lax',
      want: [
        'listen: must be a mapping: it is empty',
        'host: is not a known key here: it belongs below listen, smtp or statsd',
        'same_site: is not a known key here: it belongs below session',
      ],
    },
    {
      name: 'a value that ends with a colon',
      text: 'database: sqlite::memory:',
      want: [
        'PATH: Nested mappings are not allowed in compact mappings at line 1, column 11; check the indentation of the next line, and put quotes around a value with a colon before a space or at its end',
      ],
    },
    {
      name: 'an overindented key',
      text: 'service: a\n  workers: 2',
      want: [
        'PATH: Nested mappings are not allowed in compact mappings at line 1, column 10; check the indentation of the next line, and put quotes around a value with a colon before a space or at its end',
      ],
    },
    {
      name: 'an unquoted variable inside braces',
      text: 'smtp: { host: ${HOST} }',
      want: [
        'PATH: Unexpected flow-map-start at node end at line 1, column 16; inside { } and [ ] put quotes around a value with ${',
      ],
    },
    {
      name: 'a mail server with a port',
      text: 'smtp: { host: "mail.example:587" }',
      want: ['smtp.host: must be only a host name or an address; smtp.port is the port'],
    },
    {
      name: 'a mail server as a URL',
      text: 'smtp: { host: "smtp://mail.example" }',
      want: ['smtp.host: must be only a host name or an address; smtp.port is the port'],
    },
    { name: 'a list instead of a mapping', text: 'listen: [1]', want: ['listen: must be a mapping'] },
    {
      name: 'a file that is not a mapping',
      text: '- 1',
      want: ['PATH: must have keys with values, like base_url: https://id.example.org'],
    },
    {
      name: 'a port out of range',
      text: 'listen: { port: 65536 }',
      want: ['listen.port: must be at most 65535'],
    },
    {
      name: 'a port with trailing text',
      options: { port: '80a' },
      want: ['--port: must be a whole number from 0 to 65535'],
    },
    { name: 'an empty option', options: { host: '' }, want: ['--host: must not be empty'] },
    {
      name: 'zero workers',
      env: { LATCHKEY_WORKERS: '0' },
      want: ['LATCHKEY_WORKERS: must be a whole number from 1 to 64'],
    },
    { name: 'too many workers', text: 'workers: 65', want: ['workers: must be at most 64'] },
    {
      name: 'a service name in upper case',
      text: 'service: UAA',
      want: ['service: must be a lower-case letter and then lower-case letters and digits'],
    },
    {
      name: 'a service name with a dot from the environment',
      env: { LATCHKEY_SERVICE: 'a.b' },
      want: ['LATCHKEY_SERVICE: must be a lower-case letter and then lower-case letters and digits'],
    },
    {
      name: 'an unknown compatibility',
      text: 'compatibility: uaa77',
      want: ['compatibility: must be one of standard, uaa'],
    },
    {
      name: 'an unknown compatibility from the environment',
      env: { LATCHKEY_COMPATIBILITY: 'x' },
      want: ['LATCHKEY_COMPATIBILITY: must be one of standard, uaa'],
    },
    {
      name: 'an invalid base URL',
      text: 'base_url: localhost:8080',
      want: ['base_url: must be an http or https URL'],
    },
    {
      name: 'a base URL of another scheme',
      text: 'base_url: ftp://id.example',
      want: ['base_url: must be an http or https URL'],
    },
    {
      name: 'a base URL with a query',
      text: 'base_url: "https://id.example/?x"',
      want: ['base_url: must have neither a query nor a fragment'],
    },
    {
      name: 'a base URL with an empty fragment',
      text: 'base_url: "https://id.example/#"',
      want: ['base_url: must have neither a query nor a fragment'],
    },
    {
      name: 'a base URL with a password',
      text: 'base_url: https://a:b@id.example',
      want: ['base_url: must not hold a user name or password'],
    },
    {
      name: 'a base URL with an empty path segment',
      text: 'base_url: https://id.example/a//b',
      want: ['base_url: has two slashes in a row in its path'],
    },
    ...['https://*.id.example', 'https://id.example/a b', String.raw`https://id.example\a`].map(base => ({
      name: `the base URL ${base}`,
      text: `base_url: '${base}'`,
      want: ['base_url: must have no blank, no * and no backslash'],
    })),
    {
      name: 'an unsupported database',
      text: 'database: mysql://root:secret@host/db',
      want: ['database: must be sqlite:<path>, sqlite::memory: or postgres://user:password@host/database'],
    },
    {
      name: 'a random port with several processes',
      text: 'listen: { port: 0 }\nworkers: 2',
      want: ['workers: must be 1 if the port is 0'],
    },
    {
      name: 'an in-memory database with several processes',
      text: 'database: "sqlite::memory:"\nworkers: 2',
      want: ['workers: must be 1 with a database in memory'],
    },
    {
      name: 'a short master key',
      text: 'master_key: abcd',
      want: ['master_key: must be 32 bytes as 64 hexadecimal characters or as base64'],
    },
    {
      name: 'a repeated key',
      text: 'service: a\nservice: b',
      want: ['PATH: Map keys must be unique at line 2, column 1; service is there already: join the two parts'],
    },
    {
      name: 'a repeated key within a line',
      text: 'listen: { port: 1, port: 2 }',
      want: ['PATH: Map keys must be unique at line 1, column 20; port is there already: join the two parts'],
    },
    {
      name: 'a file with two documents',
      text: 'service: a\n---\nservice: b',
      want: ['PATH: has several documents, separated by ---; only one is allowed'],
    },
    {
      name: 'a folder',
      options: { config: '.' },
      want: ['FOLDER: cannot be read: it is a directory'],
    },
    {
      name: 'a missing file',
      options: { config: 'nowhere.yml' },
      want: ['NOWHERE: cannot be read: no such file'],
    },
    { name: 'an SMTP server without a host', text: 'smtp: { port: 25 }', want: ['smtp.host: is missing'] },
    { name: 'an SMTP server with an empty host', text: 'smtp: { host: "" }', want: ['smtp.host: must not be empty'] },
    {
      name: 'a sender with a display name',
      text: 'smtp: { host: h, from: "Ann <ann@example.org>" }',
      want: ['smtp.from: must be one e-mail address'],
    },
    {
      name: 'a base URL without a domain for the sender',
      text: 'base_url: "http://[::1]:8080"\nsmtp: { host: h }',
      want: ['smtp.from: is missing: the host of base_url cannot be used in an e-mail address'],
    },
    {
      name: 'a mail server user without a password',
      text: 'smtp: { host: h, user: u }',
      want: ['smtp.password: is missing, but smtp.user is set'],
    },
    {
      name: 'a mail server password without a user',
      text: 'smtp: { host: h, password: p }',
      want: ['smtp.user: is missing, but smtp.password is set'],
    },
    {
      name: 'both kinds of TLS',
      text: 'smtp: { host: h, secure: true, starttls: true }',
      want: ['smtp.starttls: must not be true together with secure: choose one'],
    },
    {
      name: 'a mail rate of zero',
      text: 'smtp: { host: h, rate: 0 }',
      want: ['smtp.rate: must be at least 1'],
    },
    {
      name: 'a merge key, which would be an attribute of a client',
      text: `bootstrap:
  clients:
    - &common { client_id: a, client_secret: s, authorized_grant_types: [client_credentials] }
    - { <<: *common, client_id: b, client_secret: s, authorized_grant_types: [client_credentials] }`,
      want: ['bootstrap.clients[1].<<: is not supported: repeat the members'],
    },
    {
      name: 'a merge key of a section',
      text: 'x: &x { port: 1 }\nlisten: { <<: *x }',
      want: ['listen.<<: is not supported: repeat the members', 'x: is not a known key'],
    },
    {
      name: 'a set of YAML, which would have no members',
      text: 'bootstrap: !!set {}',
      want: ['PATH: Unresolved tag at line 1, column 12; put quotes around a value that begins with !'],
    },
    {
      name: 'a misspelled zone setting',
      text: 'zone_config: { tokenPolicy: { accesTokenValidity: 1 } }',
      want: ['zone_config.tokenPolicy.accesTokenValidity: is not a known key; did you mean accessTokenValidity?'],
    },
  ]
  for (const { name, text = '', env = {}, options = {}, want } of cases) {
    it(`rejects ${name}`, async () => {
      const got = await problemsOf(load(text, { env, options }))
      const known = got.map(line =>
        line
          .replace(join(folder, 'latchkey.yml'), 'PATH')
          .replace(join(folder, 'nowhere.yml'), 'NOWHERE')
          .replace(folder, 'FOLDER'),
      )
      assert.deepEqual(known, want)
    })
  }

  const quoted: readonly { readonly name: string; readonly value: string; readonly want: string }[] = [
    {
      name: 'an exclamation mark',
      value: '!S3cret',
      want: 'PATH: Unresolved tag at line 2, column 37; put quotes around a value that begins with !',
    },
    {
      name: 'an asterisk',
      value: '*S3cret',
      want: 'PATH: Unresolved alias at line 2; put quotes around a value that begins with *',
    },
    {
      name: 'a backslash in double quotes',
      value: String.raw`"\US3cretS3"`,
      want: 'PATH: Invalid escape sequence at line 2, column 38',
    },
    {
      name: 'an opening brace after a dollar sign',
      value: "'${S3cret!'",
      want: 'smtp.password: has ${ without a variable; write $${ for a literal ${',
    },
    {
      name: 'a default with a variable',
      value: "'${NONE:-S3cret${X}}'",
      want: 'smtp.password: has ${ without a variable; write $${ for a literal ${',
    },
  ]
  for (const { name, value, want } of quoted) {
    it(`quotes no part of a secret that begins with ${name}`, async () => {
      const got = await problemsOf(load(`# a file\nsmtp: { host: h, user: u, password: ${value} }`))
      assert.deepEqual(
        got.map(line => line.replace(join(folder, 'latchkey.yml'), 'PATH')),
        [want],
      )
    })
  }

  const cut = 'has a key without a value: inside { } put quotes around a value with a comma'
  for (const [name, text, want] of [
    ['a section', 'smtp: { host: h, user: u, password: abc,S3cret }', `smtp: ${cut}`],
    [
      'a client, which would have the part before the comma',
      'bootstrap: { clients: [{ client_id: a, authorized_grant_types: [password], client_secret: abc,S3cret }] }',
      `bootstrap.clients[0]: ${cut}`,
    ],
    [
      'a user',
      'bootstrap: { users: [{ userName: u, emails: [{ value: u@e.org }], password: abc,S3cret }] }',
      `bootstrap.users[0]: ${cut}`,
    ],
  ] as const) {
    it(`quotes no part of a secret with a comma of ${name}`, async () => {
      assert.deepEqual(await problemsOf(load(text)), [want])
    })
  }

  for (const sign of ['|', '>']) {
    it(`quotes no part of a secret that begins with ${sign}`, async () => {
      const got = await problemsOf(load(`smtp:\n  host: h\n  user: u\n  password: ${sign}S3cret\n`))
      assert.match(
        got.join(),
        /: Block scalar header includes extra characters at line 4, column 14; put quotes around a /,
      )
      assert.doesNotMatch(got.join(), /S3cret/)
    })
  }

  const client =
    'bootstrap: { clients: [{ client_id: a, client_secret_file: ./s, authorized_grant_types: [password] }] }'

  // Otherwise each letter that is not ASCII would become the same character, also in a secret.
  it('rejects a file in another encoding than UTF-8', async () => {
    const path = join(folder, 'latin.yml')
    const utf16 = Buffer.from('\ufeffservice: svc', 'utf16le')
    for (const content of [Buffer.from('service: svc # grün', 'latin1'), utf16]) {
      writeFileSync(path, content)
      assert.deepEqual(await problemsOf(load('', { options: { config: path } })), [
        `${path}: cannot be read: it is not UTF-8`,
      ])
    }
    writeFileSync(join(folder, 's'), Buffer.from('grün', 'latin1'))
    const key = 'bootstrap.clients[0].client_secret_file'
    assert.deepEqual(await problemsOf(load(client)), [`${key}: ./s cannot be read: it is not UTF-8`])
  })

  it('ignores a byte order mark', async () => {
    writeFileSync(join(folder, 's'), '\ufeffs3cret\r\n')
    const { bootstrap } = await load(`\ufeff${client}`)
    assert.equal(bootstrap.clients[0]?.['client_secret'], 's3cret')
  })

  it('reports every problem of every source at once', async () => {
    const text =
      'nonsense: 1\nbase_url: x\nbootstrap: { clients: [ { client_id: a, scope: 5 }, { client_id: b } ], users: 7 }'
    const got = await problemsOf(load(text, { options: { port: 'x' }, env: { LATCHKEY_WORKERS: '99' } }))
    const keys = got.map(line => line.slice(0, line.indexOf(': '))).toSorted()
    assert.deepEqual(keys, [
      '--port',
      'LATCHKEY_WORKERS',
      'base_url',
      'bootstrap.clients[0].scope',
      'bootstrap.clients[1].authorized_grant_types',
      'bootstrap.users',
      'nonsense',
    ])
  })

  const bases = [
    { given: 'https://id.example/', want: 'https://id.example' },
    { given: 'https://ID.example:443/uaa//', want: 'https://id.example/uaa' },
    { given: 'http://localhost:8080/uaa/', want: 'http://localhost:8080/uaa' },
  ]
  for (const { given, want } of bases) {
    it(`normalizes the base URL ${given} to ${want}`, async () => {
      assert.equal((await load(`base_url: ${given}`)).baseUrl, want)
    })
  }

  const warned = [
    // Partly covers compatibility: metadata: M5 https
    { name: 'http on another host', text: 'base_url: http://id.example', warning: /without https/ },
    { name: 'SameSite=None over http', text: 'session: { same_site: none }', warning: /no effect over http/ },
    { name: 'mails that are not sent', text: 'workers: 1', warning: /^smtp is missing: mails are stored but not sent/ },
    {
      name: 'mails sent without TLS',
      text: 'smtp: { host: mail.example }',
      warning: /^smtp: mail\.example may receive mails without TLS/,
    },
    { name: 'lenient redirect URI matching in uaa', text: 'compatibility: uaa', warning: /redirect URIs leniently/ },
  ]
  for (const { name, text, warning } of warned) {
    it(`warns of ${name}`, async () => {
      assert.match((await load(text)).warnings.join('\n'), warning)
    })
  }

  for (const text of ['', '# base_url: https://id.example\n', '---\n', '{}', 'null']) {
    it(`warns of a file without settings: ${JSON.stringify(text)}`, async () => {
      const { warnings } = await load(text)
      const path = join(folder, 'latchkey.yml')
      assert.equal(warnings[0], `the configuration file ${path} has no settings: the server runs with its defaults`)
    })
  }

  it('does not warn of a file with settings, or of no file', async () => {
    for (const { warnings } of [await load('workers: 1'), await loadConfig({ env: {}, cwd: folder })])
      assert.doesNotMatch(warnings.join(), /has no settings/)
  })

  for (const smtp of [
    'host: localhost',
    'host: h, secure: true',
    'host: h, starttls: true',
    'host: h, user: u, password: p',
  ]) {
    it(`does not warn of a mail server with ${smtp}`, async () => {
      assert.deepEqual((await load(`smtp: { ${smtp} }`)).warnings, [])
    })
  }

  const databases = [
    { url: 'postgres://u:p@db.example/latchkey', exposed: true },
    { url: 'postgres://u:p@10.0.0.5:5433/latchkey?sslmode=disable', exposed: true },
    { url: 'postgresql://u:p@db.example/latchkey?sslmode=prefer', exposed: false },
    { url: 'postgresql://u:p@db.example/latchkey?uselibpqcompat=true&sslmode=prefer', exposed: true },
    { url: 'postgres://u:p@db.example/latchkey?sslmode=allow', exposed: true },
    { url: 'postgres://u:p@db.example/latchkey?sslmode=no-verify', exposed: true },
    { url: 'postgres://u:p@localhost/latchkey?host=db.example', exposed: true },
    { url: 'postgres://u:p@db.example/latchkey?uselibpqcompat=true&sslmode=require', exposed: true },
    { url: 'postgres://u:p@db.example/latchkey?uselibpqcompat=true&sslmode=verify-full', exposed: false },
    { url: 'postgres://u:p@db.example/latchkey?sslmode=require', exposed: false },
    { url: 'postgres://u:p@db.example/latchkey?sslmode=verify-full', exposed: false },
    { url: 'postgres://u:p@localhost/latchkey', exposed: false },
    { url: 'postgres://u:p@127.0.0.1/latchkey?sslmode=disable', exposed: false },
    { url: 'postgres://u:p@[::1]/latchkey', exposed: false },
    { url: 'postgres://u@/latchkey?host=/var/run/postgresql', exposed: false },
    { url: 'postgres://u@%2Fvar%2Frun%2Fpostgresql/latchkey', exposed: false },
    { url: 'sqlite:./x.db', exposed: false },
  ]
  for (const { url, exposed } of databases) {
    it(`${exposed ? 'warns of missing TLS' : 'does not warn'}: ${url}`, async () => {
      const { warnings } = await load(`database: "${url}"\nsmtp: { host: localhost }`)
      assert.deepEqual(
        warnings.map(sentence => sentence.startsWith('database: the connection to')),
        exposed ? [true] : [],
      )
      assert.doesNotMatch(warnings.join(), /u:p/)
    })
  }

  it('does not warn of http below localhost', async () => {
    assert.deepEqual((await load('base_url: http://id.localhost:8080\nsmtp: { host: localhost }')).warnings, [])
  })

  it('defaults to a sender at the host of the base URL', async () => {
    const { smtp } = await load('base_url: https://id.example\nsmtp: { host: mail }')
    const kept = { host: 'mail', from: 'admin@id.example', starttls: false, rate: 10 }
    assert.deepEqual(smtp, { ...kept, port: 25, secure: false })
    const { smtp: overTls } = await load('base_url: https://id.example\nsmtp: { host: mail, secure: true }')
    assert.deepEqual(overTls, { ...kept, port: 465, secure: true })
  })
})

describe('Substitution', () => {
  const cases = [
    { name: 'a variable', text: 'database: "sqlite:${DB}"', want: 'sqlite:x.db' },
    // Covers configuration file: rule: `${NAME}` and `${NAME:-default}`
    { name: 'the default of an undefined variable', text: 'database: "sqlite:${NO:-y.db}"', want: 'sqlite:y.db' },
    { name: 'the default of an empty variable', text: 'database: "sqlite:${EMPTY:-y.db}"', want: 'sqlite:y.db' },
    { name: 'an escaped dollar sign', text: 'database: "sqlite:$${DB}$5"', want: 'sqlite:${DB}$5' },
  ]
  for (const { name, text, want } of cases) {
    it(`supports ${name}`, async () => {
      assert.equal((await load(text, { env: { DB: 'x.db', EMPTY: '' } })).database, want)
    })
  }

  it('accepts an empty variable where an empty secret is allowed', async () => {
    const client = '{ client_id: a, client_secret: "${EMPTY:-}", authorized_grant_types: [password] }'
    const { bootstrap } = await load(`bootstrap: { clients: [ ${client} ] }`, { env: { EMPTY: '' } })
    assert.equal(bootstrap.clients[0]?.['client_secret'], '')
  })

  it('converts a variable to a number where required', async () => {
    const config = await load('listen: { port: "${PORT}" }\nsmtp: { host: h, secure: "${TLS}" }', {
      env: { PORT: '81', TLS: 'true' },
    })
    assert.deepEqual([config.listen.port, config.smtp?.secure], [81, true])
  })

  it('keeps a numeric secret as a string', async () => {
    const client = '{ client_id: a, client_secret: "${S}", authorized_grant_types: [client_credentials] }'
    const { bootstrap } = await load(`bootstrap: { clients: [ ${client} ] }`, { env: { S: '12345' } })
    assert.equal(bootstrap.clients[0]?.['client_secret'], '12345')
  })

  // Covers configuration file: master_key_file; rule: `*_file` reads a secret
  it('reads secrets from files relative to the configuration', async () => {
    writeFileSync(join(folder, 'secret.txt'), 's3cret\r\n')
    writeFileSync(join(folder, 'lines.txt'), 'two\nlines\n\n')
    const { bootstrap } = await load(`
bootstrap:
  clients: [ { client_id: a, client_secret_file: secret.txt, authorized_grant_types: client_credentials } ]
  users: [ { userName: u, password_file: ./lines.txt, emails: [ { value: u@example.org } ] } ]`)
    assert.equal(bootstrap.clients[0]?.['client_secret'], 's3cret')
    assert.equal(Object.hasOwn(bootstrap.clients[0], 'client_secret_file'), false)
    assert.equal(bootstrap.users[0]?.password, 'two\nlines\n') // one line break belongs to the file, not to the secret
  })

  const refused = [
    {
      name: 'an undefined variable',
      text: 'database: "sqlite:${NO}"',
      want: /^database: the environment variable NO is not set$/,
    },
    {
      name: 'an invalid variable name',
      text: 'database: "sqlite:${a.b}"',
      want: /^database: \$\{a\.b\} is not a variable/,
    },
    {
      name: 'an unclosed brace',
      text: 'database: "sqlite:${DB"',
      want: /^database: \$\{DB is not a variable/,
    },
    {
      name: 'a nested variable',
      text: 'database: "sqlite:${NO:-${DB}}"',
      want: /^database: \$\{NO:-\$\{DB\} is not a variable: a default cannot have another one in it$/,
    },
    {
      name: 'characters that cannot be stored',
      text: 'bootstrap: { groups: [ { displayName: "a\\0b" } ] }',
      want: /^bootstrap\.groups\[0\]\.displayName: contains characters that cannot be stored: NUL, or half of a surrogate pair$/,
    },
    {
      name: 'an empty variable for a secret',
      text: `bootstrap: { clients: [ { client_id: a, client_secret: "\${EMPTY}", authorized_grant_types: password } ] }`,
      want: /^bootstrap\.clients\[0\]\.client_secret: the environment variable EMPTY is empty; \$\{EMPTY:-\} allows that$/,
    },
    {
      name: 'an empty file for a secret',
      text: 'bootstrap: { clients: [ { client_id: a, client_secret_file: empty, authorized_grant_types: password } ] }',
      want: /^bootstrap\.clients\[0\]\.client_secret_file: empty is empty$/,
    },
    {
      name: 'a missing secret file',
      text: 'master_key_file: gone',
      want: /^master_key_file: gone cannot be read: no such file$/,
    },
    {
      name: 'both a secret and its file',
      text: 'database: "sqlite:a"\ndatabase_file: b',
      want: /^database_file: cannot be given together with database$/,
    },
    {
      name: 'a secret file in a section without the secret',
      text: 'smtp: { host: localhost, cert_file: given }',
      want: /^smtp\.cert_file: is not a known key$/,
    },
  ]
  for (const { name, text, want } of refused) {
    it(`rejects ${name}, and reports nothing else`, async () => {
      writeFileSync(join(folder, 'empty'), '\n')
      writeFileSync(join(folder, 'given'), 'x')
      const got = await problemsOf(load(text, { env: { DB: 'x', EMPTY: '' } }))
      assert.equal(got.length, 1)
      assert.match(got[0] ?? '', want)
    })
  }
})

describe('The example in the operating manual', () => {
  it('is valid', async () => {
    const manual = readFileSync(new URL('../docs/operate.md', import.meta.url), 'utf8')
    const [, example = ''] = /```yaml\n([^]*?)```/.exec(manual) ?? []
    assert.notEqual(example, '')
    writeFileSync(join(folder, 'key-1.pem'), privatePem('rsa', 2048))
    writeFileSync(join(folder, 'smtp-password'), 'secret\n')
    assert.deepEqual(await problemsOf(load(example)), [])
  })
})

describe('docs/config.schema.json', () => {
  it('is the output of latchkey check-config --schema', () => {
    const file: unknown = JSON.parse(readFileSync(new URL('../docs/config.schema.json', import.meta.url), 'utf8'))
    assert.deepEqual(file, JSON.parse(JSON.stringify(EDITOR_SCHEMA)))
  })
})

describe('outbound.allow_private', () => {
  it('is off by default', async () => {
    for (const text of ['', 'outbound: {}']) assert.deepEqual((await load(text)).outbound, { allowPrivate: false })
    assert.deepEqual((await load('outbound: { allow_private: true }')).outbound, { allowPrivate: true })
  })
  it('must be a boolean', async () => {
    for (const value of ['all', '1', '[]', 'null']) {
      const [problem = ''] = await problemsOf(load(`outbound: { allow_private: ${value} }`))
      assert.match(problem, /^outbound\.allow_private: must be true or false/, value)
    }
    const [unknown] = await problemsOf(load('outbound: { allow: true }'))
    assert.equal(unknown, 'outbound.allow: is not a known key')
  })
})
