BEGIN TRANSACTION;
CREATE TABLE sfumato_ledger_accounts (
	name TEXT NOT NULL, 
	cap_epsilon TEXT NOT NULL, 
	cap_delta TEXT NOT NULL, 
	adjacency TEXT NOT NULL, 
	composition TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	spent_epsilon TEXT NOT NULL, 
	spent_delta TEXT NOT NULL, 
	events INTEGER NOT NULL, 
	exposures INTEGER NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "sfumato_ledger_accounts" VALUES('people','5','1e-06','add-remove','basic','row','13/12','0',3,1);
INSERT INTO "sfumato_ledger_accounts" VALUES('orte-ä','2','0','replace','basic','row','0.5','0',1,0);
CREATE TABLE sfumato_ledger_chain (
	sequence INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	table_name TEXT NOT NULL, 
	recorded_at TEXT NOT NULL, 
	body TEXT NOT NULL, 
	previous_hash TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (sequence)
);
INSERT INTO "sfumato_ledger_chain" VALUES(1,'open','people','2026-11-15T23:43:47.180356+00:00','{"adjacency":"add-remove","cap_delta":"1e-06","cap_epsilon":"5","composition":"basic"}','0000000000000000000000000000000000000000000000000000000000000000','fe65ad5863990cce9e8b2f234398faf256bfae0386d0ff569ae87097e2d651c6');
INSERT INTO "sfumato_ledger_chain" VALUES(2,'open','orte-ä','2026-11-15T23:43:47.199099+00:00','{"adjacency":"replace","cap_delta":"0","cap_epsilon":"2","composition":"basic"}','fe65ad5863990cce9e8b2f234398faf256bfae0386d0ff569ae87097e2d651c6','d5756c2114662eb9bae8cfc2f6305ef1dd9540ddc92e03c9c52ab7468f45ef6e');
INSERT INTO "sfumato_ledger_chain" VALUES(3,'event','people','2026-11-15T23:43:47.223150+00:00','{"adjacency":"add-remove","delta":"0","epsilon":"1/3","kind":"declared","method":"declared","note":"made elsewhere","parts":[],"randomness":"secure","table":"people","unit":"row","version":1}','d5756c2114662eb9bae8cfc2f6305ef1dd9540ddc92e03c9c52ab7468f45ef6e','462bc96bbb570bd67ed0b6b115a2ff572243b2e26d3be0307c74add6cf2cbb3f');
INSERT INTO "sfumato_ledger_chain" VALUES(4,'event','people','2026-11-15T23:43:47.254233+00:00','{"adjacency":"add-remove","delta":"0","epsilon":"0.5","kind":"discrete-laplace","method":"histogram","note":"","parts":[{"cells":10,"changed_cells":1,"scale":2.0,"sensitivity":1,"stage":"age"}],"randomness":"secure","table":"people","unit":"row","version":1}','462bc96bbb570bd67ed0b6b115a2ff572243b2e26d3be0307c74add6cf2cbb3f','c5d24a0a80451982442dadb6ccd58db9c926438ab75323f04501f41e60d19a72');
INSERT INTO "sfumato_ledger_chain" VALUES(5,'event','people','2026-11-15T23:43:47.254233+00:00','{"adjacency":"add-remove","delta":"0","epsilon":null,"kind":"heuristic","method":"histogram","note":"as published","parts":[],"randomness":"secure","table":"people","unit":"row","version":1}','c5d24a0a80451982442dadb6ccd58db9c926438ab75323f04501f41e60d19a72','87956f232f7102bd269f2672b2253180454bc2bf0b8ff07e1700286b8cd6a64b');
INSERT INTO "sfumato_ledger_chain" VALUES(6,'event','people','2026-11-15T23:43:47.264012+00:00','{"adjacency":"add-remove","delta":"0","epsilon":"0.25","kind":"discrete-laplace","method":"histogram","note":"without parts","parts":[],"randomness":"secure","table":"people","unit":"row","version":1}','87956f232f7102bd269f2672b2253180454bc2bf0b8ff07e1700286b8cd6a64b','bf121952d86cef988cb922b133f9ddbb2185415181e82bc55066c5bf43b8e7d0');
INSERT INTO "sfumato_ledger_chain" VALUES(7,'event','orte-ä','2026-11-15T23:43:47.286267+00:00','{"adjacency":"replace","delta":"0","epsilon":"0.5","kind":"declared","method":"declared","note":"","parts":[],"randomness":"secure","table":"orte-\u00e4","unit":"row","version":1}','bf121952d86cef988cb922b133f9ddbb2185415181e82bc55066c5bf43b8e7d0','f9dc3594742e2c568f417ca6b7ebae3c048fb1f8e0feae3a60de16c35a94607d');
CREATE TABLE sfumato_ledger_head (
	format INTEGER NOT NULL, 
	sequence INTEGER NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (format)
);
INSERT INTO "sfumato_ledger_head" VALUES(1,7,'f9dc3594742e2c568f417ca6b7ebae3c048fb1f8e0feae3a60de16c35a94607d');
CREATE INDEX sfumato_ledger_chain_by_table ON sfumato_ledger_chain (table_name, sequence);
COMMIT;
