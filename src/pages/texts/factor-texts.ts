// The words of second factors and passkeys in each language. Apart from the other texts, so that a server whose users have
// none does not load them.
import type { Texts } from './texts.ts'

/** Pages on which users prove a second factor, get one, and change theirs. */
export interface FactorTexts {
  readonly prove: {
    readonly title: string
    readonly heading: string
    readonly appLead: string
    readonly code: string
    readonly recoveryLead: string
    readonly recoveryCode: string
    /** For users who have no factor yet, and so no recovery codes. */
    readonly bypassLead: string
    readonly bypassCode: string
    readonly passkeyLead: string
    readonly passkey: string
    readonly submit: string
    readonly remember: (days: number) => string
    readonly useApp: string
    readonly useRecovery: string
    readonly useBypass: string
    readonly usePasskey: string
    readonly wrongCode: string
    readonly wrongRecovery: string
    readonly wrongPasskey: string
    /** Nothing that the user has counts here, and nothing may be added. */
    readonly stuck: string
    readonly needsScript: string
  }
  readonly enrol: {
    readonly title: string
    readonly heading: string
    readonly lead: string
    /** Where an application asks for more than the user has. */
    readonly stepUpLead: string
    readonly passkey: string
    readonly passkeyLead: string
    readonly passkeyName: string
    readonly app: string
    readonly appLead: string
    readonly appHeading: string
    readonly scan: string
    readonly picture: string
    readonly type: string
    readonly openApp: string
    readonly appCode: string
    readonly confirm: string
    readonly wrongCode: string
    readonly expired: string
    readonly failedPasskey: string
    /** Where the authenticator holds one of the user's passkeys. */
    readonly knownPasskey: string
    readonly codesHeading: string
    readonly codesLead: string
    readonly download: string
    readonly copy: string
    readonly copiedAloud: string
    readonly selectedAloud: string
    readonly saved: string
    /** The first line of the file. */
    readonly fileHeading: (of: { readonly site: string; readonly userName: string }) => string
    readonly another: string
  }
}

const en: FactorTexts = {
  prove: {
    title: 'Second step',
    heading: 'Confirm that it is you',
    appLead: 'Enter the six digits that your authenticator app shows.',
    code: 'Code',
    recoveryLead:
      'Enter one of your recovery codes. Each works once. A code that an administrator gave you works here, too.',
    recoveryCode: 'Recovery code',
    bypassLead: 'Enter the code that an administrator gave you. It works once.',
    bypassCode: 'Code from an administrator',
    passkeyLead: 'Use your fingerprint, your face, the lock of your screen or a security key.',
    passkey: 'Use a passkey',
    submit: 'Continue',
    remember: days =>
      days === 1 ? 'Do not ask on this device for a day' : `Do not ask on this device for ${days} days`,
    useApp: 'Use the authenticator app',
    useRecovery: 'Use a recovery code',
    useBypass: 'I have a code from an administrator',
    usePasskey: 'Use a passkey',
    wrongCode: 'That code is not right. Wait for the next one, and check that the clock of your phone is right.',
    wrongRecovery: 'That code is not right, or it was used before.',
    wrongPasskey: 'That passkey was not accepted. Try again, or use another one.',
    stuck:
      'What you have set up is not enough here. Enter one of your recovery codes, or ask an administrator for a code.',
    needsScript: 'Passkeys need JavaScript, which is off in this browser.',
  },
  enrol: {
    title: 'Protect your account',
    heading: 'Protect your account',
    lead: 'From now on, a second step confirms that it is you. Setting it up takes less than a minute.',
    stepUpLead: 'The application asks for a stronger sign-in. Setting it up takes less than a minute.',
    passkey: 'Add a passkey',
    passkeyLead: 'Easy and safe: your fingerprint, your face, the lock of your screen or a security key.',
    passkeyName: 'Passkey',
    app: 'Set up an authenticator app',
    appLead: 'An app on your phone, such as Google or Microsoft Authenticator, shows a new code every half minute.',
    appHeading: 'Set up your authenticator app',
    scan: 'Open the app, add an account there, and scan this picture.',
    picture: 'QR code of the key',
    type: 'Type a key instead',
    openApp: 'Open it in an app on this device',
    appCode: 'Code that the app shows',
    confirm: 'Confirm',
    wrongCode: 'That code is not right. Wait for the next one, and check that the clock of your phone is right.',
    expired: 'This page was open for too long. Start again with the new picture.',
    failedPasskey: 'The passkey was not added. Try again, or choose another way.',
    knownPasskey: 'This device or security key has a passkey for your account already.',
    codesHeading: 'Save your recovery codes',
    codesLead:
      'If you lose your device, each of these codes lets you in once. Keep them in a safe place: they are shown only now.',
    download: 'Download',
    copy: 'Copy',
    copiedAloud: 'The codes are copied.',
    selectedAloud: 'The codes are selected. Copy them by hand.',
    saved: 'I have saved them',
    fileHeading: ({ site, userName }) => `Recovery codes of ${userName} for ${site}. Each works once.`,
    another: 'Choose another way',
  },
}

const de: FactorTexts = {
  prove: {
    title: 'Zweiter Schritt',
    heading: 'Bestätigen Sie, dass Sie es sind',
    appLead: 'Geben Sie die sechs Ziffern ein, die Ihre Authentifizierungs-App anzeigt.',
    code: 'Code',
    recoveryLead:
      'Geben Sie einen Ihrer Wiederherstellungscodes ein. Jeder gilt einmal. Auch ein Code von der Administration gilt hier.',
    recoveryCode: 'Wiederherstellungscode',
    bypassLead: 'Geben Sie den Code ein, den Sie von der Administration bekommen haben. Er gilt einmal.',
    bypassCode: 'Code von der Administration',
    passkeyLead:
      'Verwenden Sie Ihren Fingerabdruck, Ihr Gesicht, Ihre Bildschirmsperre oder einen Sicherheitsschlüssel.',
    passkey: 'Passkey verwenden',
    submit: 'Weiter',
    remember: days =>
      days === 1 ? 'Auf diesem Gerät einen Tag lang nicht fragen' : `Auf diesem Gerät ${days} Tage lang nicht fragen`,
    useApp: 'Authentifizierungs-App verwenden',
    useRecovery: 'Wiederherstellungscode verwenden',
    useBypass: 'Ich habe einen Code von der Administration',
    usePasskey: 'Passkey verwenden',
    wrongCode: 'Dieser Code stimmt nicht. Warten Sie auf den nächsten, und prüfen Sie die Uhr Ihres Telefons.',
    wrongRecovery: 'Dieser Code stimmt nicht oder wurde schon verwendet.',
    wrongPasskey: 'Dieser Passkey wurde nicht angenommen. Versuchen Sie es noch einmal oder mit einem anderen.',
    stuck:
      'Was Sie eingerichtet haben, reicht hier nicht. Geben Sie einen Ihrer Wiederherstellungscodes ein, oder bitten Sie die Administration um einen Code.',
    needsScript: 'Passkeys brauchen JavaScript, das in diesem Browser ausgeschaltet ist.',
  },
  enrol: {
    title: 'Konto schützen',
    heading: 'Schützen Sie Ihr Konto',
    lead: 'Von jetzt an bestätigt ein zweiter Schritt, dass Sie es sind. Das Einrichten dauert weniger als eine Minute.',
    stepUpLead: 'Die Anwendung verlangt eine stärkere Anmeldung. Einrichten dauert weniger als eine Minute.',
    passkey: 'Passkey hinzufügen',
    passkeyLead: 'Einfach und sicher: Fingerabdruck, Gesicht, Bildschirmsperre oder Sicherheitsschlüssel.',
    passkeyName: 'Passkey',
    app: 'Authentifizierungs-App einrichten',
    appLead:
      'Eine App auf Ihrem Telefon, etwa Google oder Microsoft Authenticator, zeigt alle halbe Minute einen neuen Code.',
    appHeading: 'Richten Sie Ihre Authentifizierungs-App ein',
    scan: 'Öffnen Sie die App, fügen Sie dort ein Konto hinzu, und scannen Sie dieses Bild.',
    picture: 'QR-Code des Schlüssels',
    type: 'Stattdessen einen Schlüssel eintippen',
    openApp: 'In einer App auf diesem Gerät öffnen',
    appCode: 'Code, den die App anzeigt',
    confirm: 'Bestätigen',
    wrongCode: 'Dieser Code stimmt nicht. Warten Sie auf den nächsten, und prüfen Sie die Uhr Ihres Telefons.',
    expired: 'Diese Seite war zu lange offen. Beginnen Sie noch einmal mit dem neuen Bild.',
    failedPasskey:
      'Der Passkey wurde nicht hinzugefügt. Versuchen Sie es noch einmal, oder wählen Sie einen anderen Weg.',
    knownPasskey: 'Dieses Gerät oder dieser Sicherheitsschlüssel hat bereits einen Passkey für Ihr Konto.',
    codesHeading: 'Speichern Sie Ihre Codes',
    codesLead:
      'Wenn Sie Ihr Gerät verlieren, lässt Sie jeder dieser Codes einmal ein. Bewahren Sie sie sicher auf: Sie werden nur jetzt gezeigt.',
    download: 'Speichern',
    copy: 'Kopieren',
    copiedAloud: 'Die Codes sind kopiert.',
    selectedAloud: 'Die Codes sind markiert. Kopieren Sie sie von Hand.',
    saved: 'Ich habe sie gespeichert',
    fileHeading: ({ site, userName }) => `Wiederherstellungscodes von ${userName} für ${site}. Jeder gilt einmal.`,
    another: 'Anderen Weg wählen',
  },
}

const fr: FactorTexts = {
  prove: {
    title: 'Deuxième étape',
    heading: 'Confirmez que c’est bien vous',
    appLead: 'Saisissez les six chiffres affichés par votre application d’authentification.',
    code: 'Code',
    recoveryLead:
      'Saisissez l’un de vos codes de secours. Chacun sert une fois. Un code donné par un administrateur convient aussi.',
    recoveryCode: 'Code de secours',
    bypassLead: 'Saisissez le code qu’un administrateur vous a donné. Il sert une fois.',
    bypassCode: 'Code d’un administrateur',
    passkeyLead: 'Utilisez votre empreinte, votre visage, le verrouillage de votre écran ou une clé de sécurité.',
    passkey: 'Utiliser une clé d’accès',
    submit: 'Continuer',
    remember: days =>
      days === 1
        ? 'Ne pas demander sur cet appareil pendant un jour'
        : `Ne pas demander sur cet appareil pendant ${days} jours`,
    useApp: 'Utiliser l’application d’authentification',
    useRecovery: 'Utiliser un code de secours',
    useBypass: 'J’ai un code d’un administrateur',
    usePasskey: 'Utiliser une clé d’accès',
    wrongCode: 'Ce code n’est pas le bon. Attendez le suivant et vérifiez l’heure de votre téléphone.',
    wrongRecovery: 'Ce code n’est pas le bon, ou il a déjà servi.',
    wrongPasskey: 'Cette clé d’accès n’a pas été acceptée. Réessayez, ou utilisez-en une autre.',
    stuck:
      'Ce que vous avez configuré ne suffit pas ici. Saisissez l’un de vos codes de secours, ou demandez un code à votre administrateur.',
    needsScript: 'Les clés d’accès ont besoin de JavaScript, qui est désactivé dans ce navigateur.',
  },
  enrol: {
    title: 'Protéger votre compte',
    heading: 'Protégez votre compte',
    lead: 'Désormais, une deuxième étape confirme que c’est bien vous. La mise en place prend moins d’une minute.',
    stepUpLead: 'L’application demande une connexion plus forte. La mise en place prend moins d’une minute.',
    passkey: 'Ajouter une clé d’accès',
    passkeyLead:
      'Simple et sûr\u00a0: votre empreinte, votre visage, le verrouillage de votre écran ou une clé de sécurité.',
    passkeyName: 'Clé d’accès',
    app: 'Configurer une application d’authentification',
    appLead:
      'Une application de votre téléphone, comme Google ou Microsoft Authenticator, affiche un nouveau code toutes les 30 secondes.',
    appHeading: 'Configurez votre application d’authentification',
    scan: 'Ouvrez l’application, ajoutez-y un compte et scannez cette image.',
    picture: 'Code QR de la clé',
    type: 'Saisir une clé à la place',
    openApp: 'Ouvrir dans une application de cet appareil',
    appCode: 'Code affiché par l’application',
    confirm: 'Confirmer',
    wrongCode: 'Ce code n’est pas le bon. Attendez le suivant et vérifiez l’heure de votre téléphone.',
    expired: 'Cette page est restée ouverte trop longtemps. Recommencez avec la nouvelle image.',
    failedPasskey: 'La clé d’accès n’a pas été ajoutée. Réessayez, ou choisissez un autre moyen.',
    knownPasskey: 'Cet appareil ou cette clé de sécurité a déjà une clé d’accès pour votre compte.',
    codesHeading: 'Enregistrez vos codes de secours',
    codesLead:
      'Si vous perdez votre appareil, chacun de ces codes vous laisse entrer une fois. Gardez-les en lieu sûr\u00a0: ils ne sont affichés que maintenant.',
    download: 'Télécharger',
    copy: 'Copier',
    copiedAloud: 'Les codes sont copiés.',
    selectedAloud: 'Les codes sont sélectionnés. Copiez-les à la main.',
    saved: 'Je les ai enregistrés',
    fileHeading: ({ site, userName }) => `Codes de secours de ${userName} pour ${site}. Chacun sert une fois.`,
    another: 'Choisir un autre moyen',
  },
}

const es: FactorTexts = {
  prove: {
    title: 'Segundo paso',
    heading: 'Confirme que es usted',
    appLead: 'Escriba los seis dígitos que muestra su aplicación de autenticación.',
    code: 'Código',
    recoveryLead:
      'Escriba uno de sus códigos de recuperación. Cada uno sirve una vez. También sirve un código que le haya dado un administrador.',
    recoveryCode: 'Código de recuperación',
    bypassLead: 'Escriba el código que le ha dado un administrador. Sirve una vez.',
    bypassCode: 'Código de un administrador',
    passkeyLead: 'Use su huella, su cara, el bloqueo de su pantalla o una llave de seguridad.',
    passkey: 'Usar una clave de acceso',
    submit: 'Continuar',
    remember: days =>
      days === 1
        ? 'No preguntar en este dispositivo durante un día'
        : `No preguntar en este dispositivo durante ${days} días`,
    useApp: 'Usar la aplicación de autenticación',
    useRecovery: 'Usar un código de recuperación',
    useBypass: 'Tengo un código de un administrador',
    usePasskey: 'Usar una clave de acceso',
    wrongCode: 'Ese código no es correcto. Espere al siguiente y compruebe la hora de su teléfono.',
    wrongRecovery: 'Ese código no es correcto o ya se usó.',
    wrongPasskey: 'Esa clave de acceso no se aceptó. Inténtelo de nuevo o use otra.',
    stuck:
      'Lo que ha configurado no basta aquí. Escriba uno de sus códigos de recuperación o pida un código a su administrador.',
    needsScript: 'Las claves de acceso necesitan JavaScript, que está desactivado en este navegador.',
  },
  enrol: {
    title: 'Proteger su cuenta',
    heading: 'Proteja su cuenta',
    lead: 'A partir de ahora, un segundo paso confirma que es usted. Configurarlo lleva menos de un minuto.',
    stepUpLead: 'La aplicación pide un inicio de sesión más fuerte. Configurarlo lleva menos de un minuto.',
    passkey: 'Añadir una clave de acceso',
    passkeyLead: 'Fácil y seguro: su huella, su cara, el bloqueo de su pantalla o una llave de seguridad.',
    passkeyName: 'Clave de acceso',
    app: 'Configurar una aplicación de autenticación',
    appLead:
      'Una aplicación de su teléfono, como Google o Microsoft Authenticator, muestra un código nuevo cada medio minuto.',
    appHeading: 'Configure su aplicación de autenticación',
    scan: 'Abra la aplicación, añada en ella una cuenta y escanee esta imagen.',
    picture: 'Código QR de la clave',
    type: 'Escribir una clave en su lugar',
    openApp: 'Abrir en una aplicación de este dispositivo',
    appCode: 'Código que muestra la aplicación',
    confirm: 'Confirmar',
    wrongCode: 'Ese código no es correcto. Espere al siguiente y compruebe la hora de su teléfono.',
    expired: 'Esta página estuvo abierta demasiado tiempo. Empiece de nuevo con la nueva imagen.',
    failedPasskey: 'No se añadió la clave de acceso. Inténtelo de nuevo o elija otra forma.',
    knownPasskey: 'Este dispositivo o esta llave de seguridad ya tiene una clave de acceso para su cuenta.',
    codesHeading: 'Guarde sus códigos de recuperación',
    codesLead:
      'Si pierde su dispositivo, cada uno de estos códigos le deja entrar una vez. Guárdelos en un lugar seguro: solo se muestran ahora.',
    download: 'Descargar',
    copy: 'Copiar',
    copiedAloud: 'Los códigos están copiados.',
    selectedAloud: 'Los códigos están seleccionados. Cópielos a mano.',
    saved: 'Los he guardado',
    fileHeading: ({ site, userName }) => `Códigos de recuperación de ${userName} para ${site}. Cada uno sirve una vez.`,
    another: 'Elegir otra forma',
  },
}

const ja: FactorTexts = {
  prove: {
    title: '2段階認証',
    heading: 'ご本人であることの確認',
    appLead: '認証アプリに表示されている6桁の数字を入力してください。',
    code: 'コード',
    recoveryLead:
      'リカバリーコードを1つ入力してください。各コードは1回だけ使えます。管理者から渡されたコードも使えます。',
    recoveryCode: 'リカバリーコード',
    bypassLead: '管理者から渡されたコードを入力してください。1回だけ使えます。',
    bypassCode: '管理者から渡されたコード',
    passkeyLead: '指紋、顔、画面ロック、またはセキュリティキーを使用します。',
    passkey: 'パスキーを使用',
    submit: '続ける',
    remember: days => `このデバイスでは${days}日間確認しない`,
    useApp: '認証アプリを使用',
    useRecovery: 'リカバリーコードを使用',
    useBypass: '管理者から渡されたコードがある',
    usePasskey: 'パスキーを使用',
    wrongCode: 'コードが正しくありません。次のコードを待ち、スマートフォンの時刻を確認してください。',
    wrongRecovery: 'コードが正しくないか、すでに使用されています。',
    wrongPasskey: 'このパスキーは受け付けられませんでした。もう一度試すか、別のパスキーを使用してください。',
    stuck: '設定済みの方法では不十分です。リカバリーコードを1つ入力するか、管理者にコードを依頼してください。',
    needsScript: 'パスキーにはJavaScriptが必要ですが、このブラウザーでは無効になっています。',
  },
  enrol: {
    title: 'アカウントの保護',
    heading: 'アカウントを保護しましょう',
    lead: '今後は2段階目でご本人であることを確認します。設定は1分もかかりません。',
    stepUpLead: 'アプリケーションがより強いサインインを求めています。設定は1分もかかりません。',
    passkey: 'パスキーを追加',
    passkeyLead: '簡単で安全です。指紋、顔、画面ロック、またはセキュリティキーを使用します。',
    passkeyName: 'パスキー',
    app: '認証アプリを設定',
    appLead:
      'スマートフォンのアプリ（Google AuthenticatorやMicrosoft Authenticatorなど）が30秒ごとに新しいコードを表示します。',
    appHeading: '認証アプリの設定',
    scan: 'アプリを開いてアカウントを追加し、この画像を読み取ってください。',
    picture: 'キーのQRコード',
    type: '代わりにキーを入力する',
    openApp: 'このデバイスのアプリで開く',
    appCode: 'アプリに表示されているコード',
    confirm: '確認',
    wrongCode: 'コードが正しくありません。次のコードを待ち、スマートフォンの時刻を確認してください。',
    expired: 'このページを開いてから時間がたちすぎました。新しい画像でやり直してください。',
    failedPasskey: 'パスキーを追加できませんでした。もう一度試すか、別の方法を選んでください。',
    knownPasskey: 'このデバイスまたはセキュリティキーには、このアカウントのパスキーがすでにあります。',
    codesHeading: 'リカバリーコードを保存してください',
    codesLead:
      'デバイスを失くしたとき、各コードで1回だけサインインできます。表示されるのは今だけですので、安全な場所に保管してください。',
    download: 'ダウンロード',
    copy: 'コピー',
    copiedAloud: 'コードをコピーしました。',
    selectedAloud: 'コードを選択しました。手動でコピーしてください。',
    saved: '保存しました',
    fileHeading: ({ site, userName }) => `${site}の${userName}のリカバリーコード。各コードは1回だけ使えます。`,
    another: '別の方法を選ぶ',
  },
}

const zh: FactorTexts = {
  prove: {
    title: '两步验证',
    heading: '确认是您本人',
    appLead: '请输入身份验证器应用显示的六位数字。',
    code: '验证码',
    recoveryLead: '请输入一个恢复代码。每个代码只能使用一次。管理员给您的代码也可以在此使用。',
    recoveryCode: '恢复代码',
    bypassLead: '请输入管理员给您的代码。它只能使用一次。',
    bypassCode: '管理员给的代码',
    passkeyLead: '使用您的指纹、面容、屏幕锁或安全密钥。',
    passkey: '使用通行密钥',
    submit: '继续',
    remember: days => `${days} 天内不再在此设备上询问`,
    useApp: '使用身份验证器应用',
    useRecovery: '使用恢复代码',
    useBypass: '我有管理员给的代码',
    usePasskey: '使用通行密钥',
    wrongCode: '验证码不正确。请等待下一个验证码，并检查手机的时间。',
    wrongRecovery: '该代码不正确，或已被使用。',
    wrongPasskey: '该通行密钥未被接受。请重试，或使用另一个。',
    stuck: '您已设置的方式在此还不够。请输入一个恢复代码，或向管理员索取代码。',
    needsScript: '通行密钥需要 JavaScript，而此浏览器已将其关闭。',
  },
  enrol: {
    title: '保护您的账号',
    heading: '保护您的账号',
    lead: '从现在起，将通过第二步确认是您本人。设置不到一分钟。',
    stepUpLead: '该应用要求更强的登录方式。设置不到一分钟。',
    passkey: '添加通行密钥',
    passkeyLead: '简单又安全：您的指纹、面容、屏幕锁或安全密钥。',
    passkeyName: '通行密钥',
    app: '设置身份验证器应用',
    appLead: '手机上的应用（如 Google 或 Microsoft Authenticator）每半分钟显示一个新的验证码。',
    appHeading: '设置您的身份验证器应用',
    scan: '打开该应用，在其中添加账号，然后扫描此图。',
    picture: '密钥的二维码',
    type: '改为输入密钥',
    openApp: '在此设备的应用中打开',
    appCode: '应用显示的验证码',
    confirm: '确认',
    wrongCode: '验证码不正确。请等待下一个验证码，并检查手机的时间。',
    expired: '此页面打开时间过长。请用新的图重新开始。',
    failedPasskey: '通行密钥未能添加。请重试，或选择其他方式。',
    knownPasskey: '此设备或安全密钥已有您账号的通行密钥。',
    codesHeading: '请保存您的恢复代码',
    codesLead: '如果丢失设备，每个代码可让您登录一次。请妥善保管：它们只在此刻显示。',
    download: '下载',
    copy: '复制',
    copiedAloud: '代码已复制。',
    selectedAloud: '代码已选中。请手动复制。',
    saved: '我已保存',
    fileHeading: ({ site, userName }) => `${userName} 在 ${site} 的恢复代码。每个只能使用一次。`,
    another: '选择其他方式',
  },
}

const LANGUAGES: Readonly<Record<string, FactorTexts>> = { en, de, fr, es, ja, zh }

/** In the language of the page's other texts. */
export const factorTexts = ({ tag }: Pick<Texts, 'tag'>): FactorTexts => LANGUAGES[tag.slice(0, 2)] ?? en
