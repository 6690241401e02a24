// Who may import what, and who owns what.

const BELOW_AREAS = [
  'base',
  'records',
  'model',
  'store',
  'token',
  'mail',
  'clients',
  'users',
  'factors',
  'providers',
  'zones',
  'identity',
  'accounts',
  'pages',
  'web',
  'ops',
]

/** The folders that each folder of src/ may import, besides itself. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  records: ['base'],
  model: ['base', 'records'],
  store: ['base', 'records', 'model'],
  token: ['base', 'records', 'model', 'store'],
  mail: ['base', 'records', 'model', 'store'],
  accounts: [
    'base',
    'records',
    'model',
    'store',
    'token',
    'mail',
    'clients',
    'users',
    'factors',
    'providers',
    'identity',
    'pages',
  ],
  clients: ['base', 'records', 'model', 'store', 'token'],
  users: ['base', 'records', 'model', 'store', 'token'],
  factors: ['base', 'records', 'model', 'store'],
  providers: ['base', 'records', 'model'],
  zones: ['base', 'records', 'model'],
  identity: ['base', 'records', 'model', 'store', 'mail', 'users', 'providers', 'zones'],
  pages: ['base', 'records', 'model'],
  web: ['base', 'records', 'model', 'store', 'token', 'clients', 'pages'],
  ops: ['base', 'records', 'model', 'store', 'web'],
  uaa: ['base', 'records', 'model', 'store', 'token', 'clients', 'users', 'providers', 'zones'],
  oauth: BELOW_AREAS,
  login: BELOW_AREAS,
  admin: BELOW_AREAS,
}

/** The files that read the configuration. */
export const CONFIG = /^src\/config(?:-[a-z0-9-]+|\/.+)?\.ts$/
/** Applies the configuration through the layers below the areas, never through an area. */
export const BOOTSTRAP = /^src\/bootstrap(?:\/.+)?\.ts$/
/** Those with endpoints, which never import one another. */
export const AREAS = new Set(['oauth', 'login', 'admin'])
/** Files that compose others, and may import nearly everything. */
export const WIRING = /^src\/(?:app(?:\/.+)?|main(?:\/.+)?|bootstrap(?:\/.+)?|cli\/.+)\.ts$/
const NOWHERE = /(?!)/

/** Packages that have one owner: a module name that matches may be imported by the owner's files only. */
export const OWNED_MODULES: readonly OwnedModules[] = [
  {
    modules: /^(?:kysely|pg|pg-[\w-]+|node:sqlite|better-sqlite3)(?:\/|$)/,
    owner: /^src\/store\//,
    rule: 'SQL libraries are imported in store/ only',
  },
  {
    modules: /^(?:fastify|@fastify\/[\w-]+)(?:\/|$)/,
    owner: /^src\/(?:(?:web|ops|oauth|login|admin|app)\/|app\.ts$)/,
    rule: 'fastify is imported in web/, ops/, the three areas, app.ts and app/ only',
  },
  {
    modules: /^(?:node:)?crypto$/,
    owner: /^src\/(?:(?:base|token|clients|identity)\/|oauth\/pkce\.ts$|config(?:-[a-z0-9-]+|\/.+)?\.ts$)/,
    rule: 'node:crypto is imported in base/, token/, clients/, identity/, oauth/pkce.ts and the config loader only',
  },
  {
    modules: /^(?:@node-rs\/)?(?:argon2|bcrypt|bcryptjs)$/,
    owner: /^src\/base\/passwords\.ts$/,
    rule: 'password hashing is imported in base/passwords.ts only',
  },
  {
    modules: /^(?:undici|(?:node:)?https)(?:\/|$)/,
    owner: /^src\/base\/outbound(?:\/http)?\.ts$/,
    rule: 'outbound HTTP is made in base/outbound.ts and base/outbound/http.ts only',
  },
  {
    modules: /^nodemailer(?:\/|$)/,
    owner: /^src\/mail\/transport\.ts$/,
    rule: 'mails are sent in mail/transport.ts only',
  },
  {
    modules: /^(?:prom-client|@opentelemetry\/[\w-]+)(?:\/|$)/,
    owner: /^src\/ops\//,
    rule: 'the libraries of metrics and traces are imported in ops/ only',
  },
  {
    modules: /^(?:node:)?process$/,
    owner: /^src\/config\.ts$/,
    rule: 'the environment is read in config.ts only: use the global `process` for anything else',
  },
]

/** Restricted calls and phrases with their only owner; searched outside comments and strings. */
export const OWNED_PHRASES: readonly OwnedPhrase[] = [
  {
    phrase: /(?<![.\w$#])fetch\s*\(|\bglobalThis\s*\.\s*fetch\b/g,
    owner: /^src\/base\/outbound\.ts$/,
    rule: '`fetch` is called in base/outbound.ts only',
  },
  {
    phrase: /(?<![\w$])Date\s*(?:\.\s*now\b|\(\s*\))|\bnew\s+Date\b(?!\s*[.(\w$])|\bTemporal\s*\.\s*Now\b/g,
    owner: /^src\/base\/clock\.ts$/,
    rule: 'the present moment is read in base/clock.ts only',
  },
  {
    phrase: /\bperformance\s*\.\s*now\b|\bprocess\s*\.\s*hrtime\b/g,
    owner: /^src\/base\/clock\.ts$/,
    rule: 'durations are measured by base/clock.ts only',
  },
  { phrase: /\bMath\s*\.\s*random\b/g, owner: NOWHERE, rule: '`Math.random` can be guessed: use base/random.ts' },
  {
    phrase: /\b(?:randomBytes|randomUUID|randomFill|randomFillSync|randomInt|getRandomValues)\b/g,
    owner: /^src\/base\/random\.ts$/,
    rule: 'random values are drawn in base/random.ts only',
  },
  {
    phrase: /\bprocess\s*(?:(?:\?\.|\.)\s*env\b|(?:\?\.\s*)?\[)|\benv\b[^{}=]*\}\s*=\s*process\b(?!\s*\.)/g,
    owner: /^src\/config\.ts$/,
    rule: 'the environment is read in config.ts only',
  },
  {
    phrase: /(?<![.\w$])(?:argon2|scrypt|pbkdf2)(?:Sync)?\s*\(/g,
    // A key in a file is opened with the derivation that the file names.
    owner: /^src\/base\/(?:passwords|certificates\/encrypted-key)\.ts$/,
    rule: 'passwords are hashed in base/passwords.ts only',
  },
  {
    phrase: /\.\s*normalize\s*\(/g,
    owner: /^src\/base\/text\/normalized\.ts$/,
    rule: 'text is normalized in base/text/normalized.ts only, in linear time',
  },
  {
    phrase: /\bfromTemplate\b/g,
    owner: /^src\/base\/html\.ts$/,
    rule: 'markup is made by the `html` template only',
  },
  {
    phrase: /\b(?:createRequire|getBuiltinModule)\b/g,
    owner: /^src\/base\/(?:lazy-packages|foreign-functions)\.ts$/,
    rule: 'modules are loaded by `import`, but for base/lazy-packages.ts and base/foreign-functions.ts',
  },
]

/** Forbidden phrases. */
export const BANNED_PHRASES: readonly { readonly phrase: RegExp; readonly rule: string }[] = [
  { phrase: /(?<![.\w$])enum\s+[A-Za-z_$]/g, rule: 'a union of literals is used instead of an enum' },
  { phrase: /\bexport\s+default\b|\bas\s+default\b|\bexport\s*=/g, rule: 'exports have names: no default export' },
  {
    phrase: /(?:[:<|&,(=[]|\bas\b|\bextends\b|\bsatisfies\b|=>)\s*any(?![\w$])(?!\s*(?:[:(.]|\?\s*:))/g,
    rule: '`unknown` or a real type is used instead of `any`',
  },
  { phrase: /(?<![.\w$])(?:import|require)\s*\(\s*(?!['"\s])/g, rule: 'an import names its module in plain quotes' },
]

interface OwnedModules {
  readonly modules: RegExp
  readonly owner: RegExp
  readonly rule: string
}

interface OwnedPhrase {
  readonly phrase: RegExp
  readonly owner: RegExp
  readonly rule: string
}
