"""The same two sentences in many languages and scripts: hens, ducks and a number.

Plain ones, and unchecked by those who speak them: they are about letters, not about grammar.
"""

from __future__ import annotations

# By language tag; the digits of the number are those in use there.
SENTENCES: dict[str, tuple[str, str]] = {
    "en": (
        "Anna has two hens and 15 ducks behind the house.",
        "They drink from the well every morning.",
    ),
    "de": (
        "Anna hat zwei Hühner und 15 Enten hinter dem Haus.",
        "Sie trinken jeden Morgen aus dem Brunnen.",
    ),
    "fr": (
        "Anna a deux poules et 15 canards derrière la maison.",
        "Chaque matin, ils boivent l'eau du puits.",
    ),
    "es": ("Ana tiene dos gallinas y 15 patos detrás de la casa.", "Beben del pozo cada mañana."),
    "it": (
        "Anna ha due galline e 15 anatre dietro la casa.",
        "Bevono l'acqua del pozzo ogni mattina.",
    ),
    "pt": ("A Ana tem duas galinhas e 15 patos atrás da casa.", "Bebem do poço todas as manhãs."),
    "nl": (
        "Anna heeft twee kippen en 15 eenden achter het huis.",
        "Ze drinken elke ochtend uit de put.",
    ),
    "sv": ("Anna har två höns och 15 ankor bakom huset.", "De dricker ur brunnen varje morgon."),
    "da": ("Anna har to høns og 15 ænder bag huset.", "De drikker af brønden hver morgen."),
    "no": ("Anna har to høner og 15 ender bak huset.", "De drikker av brønnen hver morgen."),
    "fi": ("Annalla on kaksi kanaa ja 15 ankkaa talon takana.", "Ne juovat kaivosta joka aamu."),
    "pl": ("Anna ma dwie kury i 15 kaczek za domem.", "Piją ze studni każdego ranka."),
    "cs": ("Anna má dvě slepice a 15 kachen za domem.", "Každé ráno pijí ze studny."),
    "sk": ("Anna má dve sliepky a 15 kačíc za domom.", "Každé ráno pijú zo studne."),
    "ro": (
        "Ana are două găini și 15 rațe în spatele casei.",
        "Beau din fântână în fiecare dimineață.",
    ),
    "hu": ("Annának két tyúkja és 15 kacsája van a ház mögött.", "Minden reggel a kútból isznak."),
    "tr": ("Ayşe'nin evin arkasında iki tavuğu ve 15 ördeği var.", "Her sabah kuyudan su içerler."),
    "id": (
        "Ani punya dua ayam dan 15 bebek di belakang rumah.",
        "Mereka minum dari sumur setiap pagi.",
    ),
    "ms": (
        "Ani ada dua ekor ayam dan 15 ekor itik di belakang rumah.",
        "Setiap pagi mereka minum air perigi.",
    ),
    "vi": ("Lan có hai con gà và 15 con vịt ở sau nhà.", "Mỗi sáng chúng uống nước giếng."),
    "ca": ("L'Anna té dues gallines i 15 ànecs darrere la casa.", "Beuen del pou cada matí."),
    "hr": ("Ana ima dvije kokoši i 15 pataka iza kuće.", "Svako jutro piju iz bunara."),
    "sl": ("Ana ima dve kokoši in 15 rac za hišo.", "Vsako jutro pijejo iz vodnjaka."),
    "et": ("Annal on maja taga kaks kana ja 15 parti.", "Nad joovad igal hommikul kaevust."),
    "lv": ("Annai aiz mājas ir divas vistas un 15 pīles.", "Katru rītu tās dzer no akas."),
    "lt": ("Ona už namo turi dvi vištas ir 15 ančių.", "Kas rytą jos geria iš šulinio."),
    "sw": (
        "Asha ana kuku wawili na bata 15 nyuma ya nyumba.",
        "Wanakunywa maji ya kisima kila asubuhi.",
    ),
    "tl": (
        "May dalawang manok at 15 na bibe si Ana sa likod ng bahay.",
        "Umiinom sila sa balon tuwing umaga.",
    ),
    "eu": ("Anek bi oilo eta 15 ahate ditu etxe atzean.", "Goizero putzutik edaten dute."),
    "is": (
        "Anna á tvær hænur og 15 endur bak við húsið.",
        "Þær drekka úr brunninum á hverjum morgni.",
    ),
    "ga": (
        "Tá dhá chearc agus 15 lacha ag Áine taobh thiar den teach.",
        "Ólann siad as an tobar gach maidin.",
    ),
    "cy": (
        "Mae gan Anna ddwy iâr a 15 hwyaden y tu ôl i'r tŷ.",
        "Maen nhw'n yfed o'r ffynnon bob bore.",
    ),
    "sq": ("Ana ka dy pula dhe 15 rosa pas shtëpisë.", "Ato pinë nga pusi çdo mëngjes."),
    "af": (
        "Anna het twee hoenders en 15 eende agter die huis.",
        "Hulle drink elke oggend uit die put.",
    ),
    "eo": (
        "Anna havas du kokinojn kaj 15 anasojn malantaŭ la domo.",
        "Ili trinkas el la puto ĉiumatene.",
    ),
    "mt": ("Anna għandha żewġ tiġieġ u 15-il papra wara d-dar.", "Kull filgħodu jixorbu mill-bir."),
    "ru": ("У Анны две курицы и 15 уток за домом.", "Каждое утро они пьют из колодца."),
    "uk": ("У Ганни дві курки і 15 качок за хатою.", "Щоранку вони п'ють із криниці."),
    "be": ("У Ганны дзве курыцы і 15 качак за хатай.", "Кожную раніцу яны п’юць са студні."),
    "bg": ("Анна има две кокошки и 15 патици зад къщата.", "Всяка сутрин те пият от кладенеца."),
    "sr": ("Ана има две кокошке и 15 патака иза куће.", "Свако јутро пију из бунара."),
    "mk": ("Ана има две кокошки и 15 патки зад куќата.", "Секое утро пијат од бунарот."),
    "kk": (
        "Айгүлдің үй артында екі тауығы мен 15 үйрегі бар.",
        "Олар күн сайын құдықтан су ішеді.",
    ),
    "mn": ("Анна гэрийн ард хоёр тахиа, 15 нугастай.", "Тэд өглөө бүр худгаас ус уудаг."),
    "el": (
        "Η Άννα έχει δύο κότες και 15 πάπιες πίσω από το σπίτι.",
        "Πίνουν από το πηγάδι κάθε πρωί.",
    ),
    "hy": ("Աննան տան հետևում ունի երկու հավ և 15 բադ։", "Ամեն առավոտ նրանք ջրհորից են խմում։"),
    "ka": ("ანას სახლის უკან ორი ქათამი და 15 იხვი ჰყავს.", "ყოველ დილით ისინი ჭიდან სვამენ."),
    "he": ("לחנה יש שתי תרנגולות ו־15 ברווזים מאחורי הבית.", "הם שותים מהבאר בכל בוקר."),
    "yi": ("חנה האָט צוויי הינער און 15 קאַטשקעס הינטערן הויז.", "זיי טרינקען פֿונעם ברונעם."),
    "ar": ("لدى هناء دجاجتان مع ١٥ بطة خلف البيت.", "تشرب من البئر كل صباح."),
    "fa": ("مریم دو مرغ و ۱۵ اردک پشت خانه دارد.", "آنها هر صبح از چاه آب می\u200cخورند."),
    "ur": (
        "مریم کے پاس گھر کے پیچھے دو مرغیاں اور ۱۵ بطخیں ہیں۔",
        "وہ ہر صبح کنویں سے پانی پیتی ہیں۔",
    ),
    "hi": ("मीरा के पास घर के पीछे दो मुर्गियाँ और १५ बत्तखें हैं।", "वे हर सुबह कुएँ से पानी पीती हैं।"),
    "mr": ("मीराकडे घरामागे दोन कोंबड्या आणि १५ बदके आहेत.", "ती रोज सकाळी विहिरीचे पाणी पितात."),
    "ne": ("मीरासँग घर पछाडि दुई कुखुरा र १५ हाँस छन्।", "तिनीहरू हरेक बिहान इनारको पानी पिउँछन्।"),
    "bn": ("মীরার ঘরের পিছনে দুটি মুরগি ও ১৫টি হাঁস আছে।", "তারা রোজ সকালে কুয়োর জল খায়।"),
    "pa": ("ਮੀਰਾ ਕੋਲ ਘਰ ਦੇ ਪਿੱਛੇ ਦੋ ਮੁਰਗੀਆਂ ਅਤੇ 15 ਬੱਤਖਾਂ ਹਨ।", "ਉਹ ਹਰ ਸਵੇਰ ਖੂਹ ਤੋਂ ਪਾਣੀ ਪੀਂਦੀਆਂ ਹਨ।"),
    "gu": ("મીરા પાસે ઘરની પાછળ બે મરઘી અને ૧૫ બતક છે.", "તેઓ દરરોજ સવારે કૂવામાંથી પાણી પીએ છે."),
    "ta": ("மீராவிடம் வீட்டின் பின்னால் இரண்டு கோழிகளும் 15 வாத்துகளும் உள்ளன.", "அவை கிணற்று நீரைக் குடிக்கின்றன."),
    "te": ("మీరాకు ఇంటి వెనుక రెండు కోళ్లు, 15 బాతులు ఉన్నాయి.", "అవి రోజూ ఉదయం బావి నీళ్లు తాగుతాయి."),
    "kn": ("ಮೀರಾಳ ಮನೆಯ ಹಿಂದೆ ಎರಡು ಕೋಳಿಗಳು ಮತ್ತು 15 ಬಾತುಕೋಳಿಗಳಿವೆ.", "ಅವು ಬೆಳಿಗ್ಗೆ ಬಾವಿಯ ನೀರು ಕುಡಿಯುತ್ತವೆ."),
    "ml": ("മീരയ്ക്ക് വീടിനു പിന്നിൽ രണ്ടു കോഴിയും 15 താറാവും ഉണ്ട്.", "അവ കിണറ്റിലെ വെള്ളം കുടിക്കും."),
    "si": ("මීරාට ගෙදර පිටුපස කිකිළියන් දෙදෙනෙක් සහ තාරාවන් 15 දෙනෙක් ඉන්නවා.", "උන් ළිඳෙන් වතුර බොනවා."),
    "th": ("มีนามีไก่สองตัวและเป็ด 15 ตัวหลังบ้าน", "ทุกเช้ามันดื่มน้ำจากบ่อ"),
    "lo": ("ມີນາມີໄກ່ສອງໂຕ ແລະ ເປັດ 15 ໂຕຢູ່ຫຼັງເຮືອນ.", "ພວກມັນກິນນ້ຳສ້າງທຸກເຊົ້າ."),
    "km": ("មីណាមានមេមាន់ពីរ និងទា ១៥ ក្បាលនៅក្រោយផ្ទះ។", "វាផឹកទឹកអណ្តូងរាល់ព្រឹក។"),
    "my": ("မီမီမှာ အိမ်နောက်ဘက်တွင် ကြက်နှစ်ကောင်နှင့် ဘဲ ၁၅ ကောင် ရှိသည်။", "ရေတွင်းမှ ရေသောက်ကြသည်။"),
    "zh": ("小安在屋后养了两只鸡和15只鸭。", "它们每天早上喝井水。"),
    "zh-Hant": ("小安在屋後養了兩隻雞和15隻鴨。", "牠們每天早上喝井水。"),
    "ja": ("アンナは家の裏で鶏を二羽とアヒルを15羽飼っている。", "毎朝、井戸の水を飲む。"),
    "ko": ("안나는 집 뒤에 닭 두 마리와 오리 15마리를 키운다.", "매일 아침 우물물을 마신다."),
    "am": ("አና ከቤቱ ጀርባ ሁለት ዶሮዎች እና 15 ዳክዬዎች አሏት።", "በየቀኑ ጠዋት ከጉድጓድ ይጠጣሉ።"),
}
